-- Identifies the editor that runs a turn or writes files, so that another one can tell whether it still does.
local M = {}

-- Returns the id of this editor. A process id alone may be in use again, such as in a container that restarts.
function M.id()
  return ("%d %s"):format(vim.uv.os_getpid(), vim.v.servername)
end

-- Reports whether the editor of an id runs.
function M.is_alive(id)
  local pid, server = id:match("^(%d+) ?(.*)$")
  if id == M.id() then
    return true
  elseif not pid or tonumber(pid) == vim.uv.os_getpid() then
    return false
  end
  local ok, _, code = vim.uv.kill(tonumber(pid), 0)
  if ok ~= 0 and code ~= "EPERM" then
    return false
  elseif server:sub(1, 1) ~= "/" then
    return true -- no socket that this editor can find
  end
  local connected, channel = pcall(vim.fn.sockconnect, "pipe", server)
  if connected and channel > 0 then
    vim.fn.chanclose(channel)
  end
  return connected and channel > 0
end

-- Returns the beginning of the names of the temporary files that an editor writes.
function M.prefix(id)
  return ".codex-bridge-" .. vim.fn.sha256(id):sub(1, 12)
end

return M
