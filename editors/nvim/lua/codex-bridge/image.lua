-- Pictures for the next text: from a file, or from the clipboard.
local M = {}

-- What prints the clipboard's picture, by the program that can.
local programs = {
  { "wl-paste", { "wl-paste", "--type", "image/png" }, "WAYLAND_DISPLAY" },
  { "xclip", { "xclip", "-selection", "clipboard", "-t", "image/png", "-o" }, "DISPLAY" },
  { "pngpaste", { "pngpaste", "-" } },
}

-- The command that is used here, or nil.
function M.program()
  for _, program in ipairs(programs) do
    if vim.fn.executable(program[1]) == 1 and (not program[3] or vim.env[program[3]]) then
      return program[2]
    end
  end
end

-- The clipboard's picture as a file; callback(err, path).
function M.clipboard(callback)
  local command = M.program()
  if not command then
    return callback("no program for pictures in the clipboard: install wl-clipboard, xclip or pngpaste")
  end
  vim.system(command, { timeout = 10000 }, vim.schedule_wrap(function(out)
    if out.code ~= 0 or (out.stdout or "") == "" then
      return callback("there is no picture in the clipboard")
    end
    local path = vim.fn.tempname() .. ".png"
    local file = assert(io.open(path, "wb"))
    file:write(out.stdout)
    file:close()
    callback(nil, path)
  end))
end

-- Puts a file, or without one the clipboard's picture, to the next text.
function M.attach(path)
  local function take(err, file)
    if err then
      return vim.notify("codex: " .. err, vim.log.levels.ERROR)
    end
    require("codex-bridge.view").open()
    require("codex-bridge.prompt").attach(file)
  end
  if not path or path == "" then
    return M.clipboard(take)
  end
  path = vim.fn.fnamemodify(vim.fn.expand(path), ":p")
  if vim.fn.filereadable(path) ~= 1 then
    return take(path .. " can't be read")
  end
  take(nil, path)
end

return M
