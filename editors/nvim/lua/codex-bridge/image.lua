-- Attaches images to the next message, from a file or from the clipboard.
local S = require("codex-bridge.strings")

local M = {}

-- Programs that print the image of the clipboard: name, command, and the variable of their display server.
local programs = {
  { "wl-paste", { "wl-paste", "--type", "image/png" }, "WAYLAND_DISPLAY" },
  { "xclip", { "xclip", "-selection", "clipboard", "-t", "image/png", "-o" }, "DISPLAY" },
  { "pngpaste", { "pngpaste", "-" } },
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
    if out.code ~= 0 or (out.stdout or "") == "" then
      return callback(S.no_clipboard_image)
    end
    local path = vim.fn.tempname() .. ".png"
    local file = assert(io.open(path, "wb"))
    file:write(out.stdout)
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
    require("codex-bridge.prompt").attach(file)
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
