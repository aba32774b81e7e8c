-- Speaks the LSP base protocol with the bridge, through Neovim's own client.
local M = {}

-- Replaces vim.NIL, which counts as true, by nil. Neovim decodes a JSON null to nil up to 0.11 and to vim.NIL in 0.12.
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

-- Starts cmd. dispatchers: as for vim.lsp.rpc.start, but on_error gets a text. Returns a client with request,
-- notify, is_closing and terminate.
function M.start(cmd, dispatchers, options)
  local rpc = vim.lsp.rpc.start(cmd, {
    notification = function(method, params)
      dispatchers.notification(method, without_null(params))
    end,
    -- Neovim calls this in a coroutine, so it may wait for the user.
    server_request = function(method, params)
      return dispatchers.server_request(method, without_null(params))
    end,
    on_exit = vim.schedule_wrap(dispatchers.on_exit),
    on_error = function(code, err)
      dispatchers.on_error(("%s: %s"):format(vim.lsp.rpc.client_errors[code] or code, type(err) == "string" and err or vim.inspect(err)))
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
