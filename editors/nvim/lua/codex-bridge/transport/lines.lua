-- Speaks JSON Lines with plain `codex app-server`, which has no bridge in front of it. The client has those
-- members of a vim.lsp.rpc client that the connection uses.
local S = require("codex-bridge.strings")

local M = {}

-- Returns a function that splits chunks into lines. It joins the pieces of a line only once, at its end.
local function line_splitter()
  local parts = {}
  return function(data)
    local lines, from = {}, 1
    while true do
      local stop = data:find("\n", from, true)
      if not stop then
        parts[#parts + 1] = data:sub(from)
        return lines
      end
      parts[#parts + 1] = data:sub(from, stop - 1)
      lines[#lines + 1] = table.concat(parts)
      parts, from = {}, stop + 1
    end
  end
end

-- Starts cmd. dispatchers and result: see transport/headers.lua.
function M.start(cmd, dispatchers, options)
  local pending, last_id, closing = {}, -1, false
  local split, process = line_splitter(), nil

  local function write(message)
    if not closing then
      process:write(vim.json.encode(message) .. "\n")
    end
    return not closing
  end

  local function respond(message)
    local ok, result, err = pcall(dispatchers.server_request, message.method, message.params)
    if not ok then
      result, err = nil, { code = -32603, message = tostring(result) }
    end
    if not err and result == nil then
      result = vim.NIL
    end
    write({ id = message.id, result = result, error = err })
  end

  local function dispatch(message)
    if message.method and message.id ~= nil then
      coroutine.wrap(respond)(message)
    elseif message.method then
      dispatchers.notification(message.method, message.params)
    elseif pending[message.id] then
      local callback = pending[message.id]
      pending[message.id] = nil
      callback(message.error, message.result)
    end
  end

  local function read(_, data)
    for _, line in ipairs(data and split(data) or {}) do
      vim.schedule(function()
        local ok, message = pcall(vim.json.decode, line, { luanil = { object = true } })
        if ok then
          dispatch(message)
        else
          dispatchers.on_error(S.not_json:format(line:sub(1, 200)))
        end
      end)
    end
  end

  process = vim.system(cmd, { stdin = true, stdout = read, stderr = false, cwd = options.cwd, env = options.env }, function(exit)
    closing = true
    vim.schedule(function()
      dispatchers.on_exit(exit.code, exit.signal)
    end)
  end)

  return {
    request = function(method, params, callback)
      if closing then
        return false
      end
      last_id = last_id + 1
      pending[last_id] = callback
      return write({ id = last_id, method = method, params = params }), last_id
    end,
    notify = function(method, params)
      return write({ method = method, params = params })
    end,
    is_closing = function()
      return closing
    end,
    terminate = function()
      process:kill("sigterm")
    end,
  }
end

return M
