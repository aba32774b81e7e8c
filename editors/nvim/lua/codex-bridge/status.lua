-- Short texts for statuslines and for the bar above the chat.
local M = {}

function M.text()
  local asked = require("codex-bridge.ask").count()
  if asked > 0 then
    return ("codex: %d to answer"):format(asked)
  end
  local state = require("codex-bridge.session").about().state
  return state == "off" and "" or "codex: " .. state
end

-- What is in force: model, sandbox, approvals and whether a policy holds them.
function M.details()
  local about = require("codex-bridge.session").about()
  local parts = {}
  if about.thread then
    local sandbox = about.thread.sandbox
    parts[#parts + 1] = about.thread.model
    parts[#parts + 1] = type(sandbox) == "table" and sandbox.type or sandbox
    parts[#parts + 1] = type(about.thread.approvalPolicy) == "string" and about.thread.approvalPolicy or nil
  end
  if about.bridge then
    local policy = about.bridge.policy or {}
    parts[#parts + 1] = "policy " .. (policy.mode or "?") .. (policy.gate and ", gate" or "")
  elseif about.state ~= "off" then
    parts[#parts + 1] = "no bridge"
  end
  return table.concat(parts, " · ")
end

function M.winbar()
  local text, details = M.text(), M.details()
  local left = text == "" and "codex" or text
  return ((" %s"):format(details == "" and left or left .. " · " .. details):gsub("%%", "%%%%"))
end

return M
