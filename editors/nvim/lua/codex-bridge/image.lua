-- Attaches images to the next message, from a file or from the clipboard.
local S = require("codex-bridge.strings")

local M = {}

-- PowerShell prints the image in base64, since its output is text.
local powershell = [[
Add-Type -AssemblyName System.Windows.Forms, System.Drawing
$image = [System.Windows.Forms.Clipboard]::GetImage()
if ($null -eq $image) { exit 1 }
$stream = New-Object System.IO.MemoryStream
$image.Save($stream, [System.Drawing.Imaging.ImageFormat]::Png)
[Console]::Out.Write([Convert]::ToBase64String($stream.ToArray()))]]

-- Programs that print the image of the clipboard: name, command, and the variable of their display server. powershell.exe
-- is also that of Windows in WSL.
local programs = {
  { "wl-paste", { "wl-paste", "--type", "image/png" }, "WAYLAND_DISPLAY" },
  { "xclip", { "xclip", "-selection", "clipboard", "-t", "image/png", "-o" }, "DISPLAY" },
  { "pngpaste", { "pngpaste", "-" } },
  { "powershell.exe", { "powershell.exe", "-NoProfile", "-NonInteractive", "-STA", "-Command", powershell } },
}

-- Returns the first command that works on this machine, or nil.
function M.clipboard_command()
  for _, program in ipairs(programs) do
    if vim.fn.executable(program[1]) == 1 and (not program[3] or vim.env[program[3]]) then
      return program[2]
    end
  end
end

-- Writes the image of the clipboard to a temporary file; callback(err, path).
local function save_clipboard(callback)
  local command = M.clipboard_command()
  if not command then
    return callback(S.no_clipboard_program)
  end
  vim.system(command, { timeout = 10000 }, vim.schedule_wrap(function(out)
    local image = out.stdout or ""
    if command[1] == "powershell.exe" then
      local decoded, bytes = pcall(vim.base64.decode, (image:gsub("%s", "")))
      image = decoded and bytes or ""
    end
    if out.code ~= 0 or image == "" then
      return callback(S.no_clipboard_image)
    end
    local path = vim.fn.tempname() .. ".png"
    local file = assert(io.open(path, "wb"))
    file:write(image)
    file:close()
    callback(nil, path)
  end))
end

-- Attaches a file, or the image of the clipboard if path is nil or empty.
function M.attach(path)
  local function attach(err, file)
    if err then
      return vim.notify(S.error:format(err), vim.log.levels.ERROR)
    end
    require("codex-bridge.view").open()
    require("codex-bridge.prompt").attach(require("codex-bridge.chips").image(file))
  end
  if not path or path == "" then
    return save_clipboard(attach)
  end
  path = vim.fn.fnamemodify(vim.fn.expand(path), ":p")
  if vim.fn.filereadable(path) ~= 1 then
    return attach(S.unreadable:format(path))
  end
  attach(nil, path)
end

return M
