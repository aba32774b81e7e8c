-- The bridge as a language server would be started: Neovim's own client of the LSP framing.
local M = {}

function M.start(cmd, dispatchers, options)
  return vim.lsp.rpc.start(cmd, {
    notification = dispatchers.notification,
    -- Neovim runs this in a coroutine of its own, so that it may wait for a person.
    server_request = dispatchers.request,
    on_exit = vim.schedule_wrap(dispatchers.exit),
    on_error = function(code, err)
      dispatchers.trouble(("%s: %s"):format(vim.lsp.rpc.client_errors[code] or code, type(err) == "string" and err or vim.inspect(err)))
    end,
  }, options)
end

return M
