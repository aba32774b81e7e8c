-- Finds the changes of a thread's settings that this client has not requested. Measured with Codex 0.169: each client of a
-- thread gets thread/settings/updated with all settings, also the one whose turn/start changed them, and nothing says who
-- did.
local S = require("codex-bridge.strings")

local M = {}

local Watch = {}
Watch.__index = Watch

local names = { "model", "effort", "approvalPolicy", "sandboxPolicy" }
local labels = { model = S.model, effort = S.effort, approvalPolicy = S.approval, sandboxPolicy = S.sandbox }

local function value(text)
  return require("codex-bridge.display").line(text)
end

-- Returns a sandbox with what it allows beyond its type.
local function sandbox_text(sandbox)
  if type(sandbox) ~= "table" then
    return sandbox and value(tostring(sandbox)) or S.default_value
  end
  local text = value(tostring(sandbox.type))
  if sandbox.networkAccess == true or sandbox.networkAccess == "enabled" then
    text = S.with_network:format(text)
  end
  local roots = vim.tbl_map(value, sandbox.writableRoots or {})
  return #roots > 0 and S.with_roots:format(text, table.concat(roots, ", ")) or text
end

local function texts(settings)
  local approval = require("codex-bridge.granular").label(settings.approvalPolicy)
  return {
    model = settings.model and value(settings.model) or S.default_value,
    effort = settings.effort and value(settings.effort) or S.default_value,
    approvalPolicy = type(approval) == "string" and value(approval) or S.default_value,
    sandboxPolicy = sandbox_text(settings.sandboxPolicy or settings.sandbox),
  }
end

-- Returns a watch for a thread that was opened. thread: see conversation.lua.
function M.new(thread)
  return setmetatable({ known = texts(thread), requested = {} }, Watch)
end

-- Takes the settings that a turn/start of this client has. Another model may have another effort.
function Watch:request(settings)
  local wanted = texts(settings)
  for _, name in ipairs(names) do
    if settings[name] ~= nil or name == "effort" and settings.model ~= nil then
      self.requested[name] = { value = wanted[name], is_in_flight = true }
    end
  end
end

-- Ends the turn of this client. The policy may have replaced a value until now.
function Watch:completed()
  for _, one in pairs(self.requested) do
    one.is_in_flight = false
  end
end

-- Takes new settings, and returns a text for each change that this client has not requested.
function Watch:updated(settings)
  local before, changes = self.known, {}
  self.known = texts(settings)
  for _, name in ipairs(names) do
    local now, own = self.known[name], nil
    if now ~= before[name] then
      own, self.requested[name] = self.requested[name], nil
      if not (own and (own.is_in_flight or own.value == now)) then
        changes[#changes + 1] = S.setting_change:format(labels[name]:lower(), before[name], now)
      end
    end
  end
  return changes
end

return M
