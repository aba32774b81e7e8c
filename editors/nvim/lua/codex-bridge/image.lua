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

local MAX_AGE = 24 * 3600 -- seconds for which an image of a Neovim that was killed stays

-- Writes an image to a new file, which goes when Neovim ends, and returns its path. Commands in Codex's sandbox can
-- write temporary folders, and could put a link in place of the file. So it is in a private folder.
local function save(image)
  local folder = vim.fs.joinpath(vim.fn.stdpath("state"), "codex-bridge", "images")
  require("codex-bridge.folder").create(folder, tonumber("700", 8))
  for name in vim.fs.dir(folder) do
    local old = vim.fs.joinpath(folder, name)
    local stat = vim.uv.fs_stat(old)
    if stat and stat.mtime.sec < os.time() - MAX_AGE then
      vim.uv.fs_unlink(old)
    end
  end
  local path = vim.fs.joinpath(folder, ("%d-%d.png"):format(vim.uv.os_getpid(), vim.uv.hrtime()))
  local file = assert(vim.uv.fs_open(path, "wx", tonumber("600", 8)))
  assert(vim.uv.fs_write(file, image))
  assert(vim.uv.fs_close(file))
  vim.api.nvim_create_autocmd("VimLeavePre", { callback = function() vim.uv.fs_unlink(path) end })
  return path
end

-- Writes the image of the clipboard to a file; callback(err, path).
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
    callback(nil, save(image))
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
