-- Runs one app-server process and its initialize handshake. Every request gets a response: when the process
-- exits, pending requests fail.
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")

local M = {}

local Connection = {}
Connection.__index = Connection

local function exit_error(code, signal)
  return { code = -32011, message = S.process_exited:format(code or 0, signal or 0) }
end

-- Starts the program. handlers: notification(method, params), server_request(method, params) in a coroutine,
-- on_exit(code, signal) after a completed handshake, on_error(text). ready(err, connection) is called once.
function M.open(handlers, ready)
  local c = config.current
  if vim.fn.executable(c.cmd[1]) ~= 1 then
    return ready(S.not_executable:format(c.cmd[1]))
  end
  local self = setmetatable({ pending = {}, last_id = 0, alive = true }, Connection)
  local env = next(c.env) and c.env or nil
  local ok, rpc = pcall(require("codex-bridge.transport." .. config.framing()).start, c.cmd, {
    notification = handlers.notification,
    server_request = handlers.server_request,
    on_error = handlers.on_error,
    on_exit = function(code, signal)
      local initialized = self.agent ~= nil
      self:fail_pending(code, signal)
      if initialized then
        handlers.on_exit(code, signal)
      end
    end,
  }, { cwd = vim.fn.getcwd(), env = env })
  if not ok then
    return ready(tostring(rpc))
  end
  self.rpc = rpc
  self:request("initialize", {
    clientInfo = { name = "codex-bridge.nvim", title = "Neovim", version = "0.1.0" },
    capabilities = self:capabilities(),
  }, function(err, result)
    if err then
      self:close()
      return ready(S.could_not_start:format(err.message))
    end
    self.agent = result.userAgent
    self.bridge = result.bridge
    self:notify("initialized", vim.empty_dict())
    ready(nil, self)
  end)
end

-- Returns the capabilities for initialize. Codex itself rejects the unknown field "bridge".
function Connection:capabilities()
  local capabilities = { experimentalApi = true }
  if config.framing() == "headers" then
    capabilities.bridge = { version = 1, tools = true, elicitations = true }
  end
  return capabilities
end

-- Reports whether the bridge offers this "bridge/" method.
function Connection:supports(method)
  return self.bridge ~= nil and vim.tbl_contains(self.bridge.methods or {}, method)
end

-- Reports whether the program enforces a policy.
function Connection:enforces()
  local policy = self.bridge and self.bridge.policy
  return policy ~= nil and policy.mode == "enforce"
end

-- Sends a request; callback(err, result) is called once. The transports call back on the main loop, in the order
-- of the messages. Another vim.schedule would lose that order.
-- Lua has one empty table for {} and []; params are always an object.
function Connection:request(method, params, callback)
  if params == nil or next(params) == nil then
    params = vim.empty_dict()
  end
  self.last_id = self.last_id + 1
  local id = self.last_id
  self.pending[id] = callback or function() end
  local function respond(err, result)
    local pending = self.pending[id]
    self.pending[id] = nil
    if pending then
      pending(err, result)
    end
  end
  local sent = self.alive and self.rpc.request(method, params, respond)
  if not sent then
    respond(exit_error())
  end
end

function Connection:notify(method, params)
  if self.alive then
    self.rpc.notify(method, params)
  end
end

function Connection:fail_pending(code, signal)
  self.alive = false
  local pending = self.pending
  self.pending = {}
  for _, callback in pairs(pending) do
    callback(exit_error(code, signal))
  end
end

function Connection:close()
  if self.alive and not self.rpc.is_closing() then
    self.rpc.terminate()
  end
end

return M
