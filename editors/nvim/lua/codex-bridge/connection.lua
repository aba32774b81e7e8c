-- One running codex, and the handshake with it. Who asks gets an answer in every case:
-- when the program ends, what is still open fails.
local config = require("codex-bridge.config")

local M = {}

local Connection = {}
Connection.__index = Connection

local function lost(code, signal)
  return { code = -32011, message = ("codex has ended (status %d, signal %d)"):format(code or 0, signal or 0) }
end

-- Starts the program. handlers: notification(method, params), request(method, params) in a
-- coroutine, exit(code, signal), trouble(text). ready(err, connection) is called once.
function M.open(handlers, ready)
  local c = config.current
  if vim.fn.executable(c.cmd[1]) ~= 1 then
    return ready(("%s is not executable; put it on PATH or set cmd in setup{}, see :checkhealth codex-bridge"):format(c.cmd[1]))
  end
  local self = setmetatable({ open = {}, last = 0, alive = true }, Connection)
  local env = next(c.env) and c.env or nil
  local ok, rpc = pcall(require("codex-bridge.transport." .. config.framing()).start, c.cmd, {
    notification = handlers.notification,
    request = handlers.request,
    trouble = handlers.trouble,
    exit = function(code, signal)
      local greeted = self.agent ~= nil
      self:ended(code, signal)
      if greeted then
        handlers.exit(code, signal)
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
      return ready("it did not start: " .. err.message)
    end
    self.agent = result.userAgent
    self.bridge = result.bridge
    self:notify("initialized", vim.empty_dict())
    ready(nil, self)
  end)
end

-- Only a bridge is told of bridges: codex would refuse what it doesn't know.
function Connection:capabilities()
  local capabilities = { experimentalApi = true }
  if config.framing() == "headers" then
    capabilities.bridge = { version = 1, tools = true, elicitations = true }
  end
  return capabilities
end

-- Whether the bridge has a method of its own.
function Connection:has(method)
  return self.bridge ~= nil and vim.tbl_contains(self.bridge.methods or {}, method)
end

-- The transports call back on the main loop and in order, between the notifications
-- that came before and after: to schedule once more would lose that order.
function Connection:request(method, params, callback)
  self.last = self.last + 1
  local key = self.last
  self.open[key] = callback or function() end
  local function answer(err, result)
    local waiting = self.open[key]
    self.open[key] = nil
    if waiting then
      waiting(err, result)
    end
  end
  local sent = self.alive and self.rpc.request(method, params, answer)
  if not sent then
    answer(lost())
  end
end

function Connection:notify(method, params)
  if self.alive then
    self.rpc.notify(method, params)
  end
end

function Connection:ended(code, signal)
  self.alive = false
  local open = self.open
  self.open = {}
  for _, callback in pairs(open) do
    callback(lost(code, signal))
  end
end

function Connection:close()
  if self.alive and not self.rpc.is_closing() then
    self.rpc.terminate()
  end
end

return M
