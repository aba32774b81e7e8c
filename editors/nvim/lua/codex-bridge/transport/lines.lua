-- A codex without a bridge in front of it: JSON Lines on stdio. It has the members of
-- vim.lsp.rpc's clients that the connection uses, and no more.
local M = {}

-- Cuts what comes in into lines. Parts are joined once, when their line is whole.
local function splitter()
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

function M.start(cmd, dispatchers, options)
  local calls, last, closing = {}, -1, false
  local split, process = splitter(), nil

  local function write(message)
    if not closing then
      process:write(vim.json.encode(message) .. "\n")
    end
    return not closing
  end

  local function answer(message)
    local ok, result, err = pcall(dispatchers.request, message.method, message.params)
    if not ok then
      result, err = nil, { code = -32603, message = tostring(result) }
    end
    if not err and result == nil then
      result = vim.NIL
    end
    write({ id = message.id, result = result, error = err })
  end

  local function take(message)
    if message.method and message.id ~= nil then
      coroutine.wrap(answer)(message)
    elseif message.method then
      dispatchers.notification(message.method, message.params)
    elseif calls[message.id] then
      local callback = calls[message.id]
      calls[message.id] = nil
      callback(message.error, message.result)
    end
  end

  local function read(_, data)
    for _, line in ipairs(data and split(data) or {}) do
      vim.schedule(function()
        local ok, message = pcall(vim.json.decode, line, { luanil = { object = true } })
        if ok then
          take(message)
        else
          dispatchers.trouble("no JSON from codex: " .. line:sub(1, 200))
        end
      end)
    end
  end

  process = vim.system(cmd, { stdin = true, stdout = read, stderr = false, cwd = options.cwd, env = options.env }, function(done)
    closing = true
    vim.schedule(function()
      dispatchers.exit(done.code, done.signal)
    end)
  end)

  return {
    request = function(method, params, callback)
      if closing then
        return false
      end
      last = last + 1
      calls[last] = callback
      return write({ id = last, method = method, params = params }), last
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
