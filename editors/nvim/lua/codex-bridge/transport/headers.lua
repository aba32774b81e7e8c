-- The bridge as a language server would be started: Neovim's own client of the LSP framing.
local M = {}

-- A null of JSON is nil up to Neovim 0.11, and vim.NIL, which counts as true, in 0.12.
local function without_null(value)
  if value == vim.NIL then
    return nil
  elseif type(value) == "table" then
    for key, member in pairs(value) do
      value[key] = without_null(member)
    end
  end
  return value
end

function M.start(cmd, dispatchers, options)
  local rpc = vim.lsp.rpc.start(cmd, {
    notification = function(method, params)
      dispatchers.notification(method, without_null(params))
    end,
    -- Neovim runs this in a coroutine of its own, so that it may wait for a person.
    server_request = function(method, params)
      return dispatchers.request(method, without_null(params))
    end,
    on_exit = vim.schedule_wrap(dispatchers.exit),
    on_error = function(code, err)
      dispatchers.trouble(("%s: %s"):format(vim.lsp.rpc.client_errors[code] or code, type(err) == "string" and err or vim.inspect(err)))
    end,
  }, options)
  return {
    request = function(method, params, callback)
      return rpc.request(method, params, function(err, result)
        callback(without_null(err), without_null(result))
      end)
    end,
    notify = rpc.notify,
    is_closing = rpc.is_closing,
    terminate = rpc.terminate,
  }
end

return M
