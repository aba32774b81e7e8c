-- A command that Codex wants to run.
local granted = require("codex-bridge.ask.granted")

local M = {}

local names = {
  accept = "Accept",
  acceptForSession = "Accept, and do not ask for the same again in this session",
  decline = "Decline",
  cancel = "Decline, and stop the turn",
}

-- The only member of a decision that is an object, if it is named name.
local function only(decision, name)
  return next(decision, next(decision)) == nil and type(decision[name]) == "table" and decision[name] or nil
end

local function label(decision)
  if type(decision) == "string" then
    return names[decision] or granted.value(decision)
  end
  local rule, host = only(decision, "acceptWithExecpolicyAmendment"), only(decision, "applyNetworkPolicyAmendment")
  if rule and only(rule, "execpolicy_amendment") then
    return "Accept, and " .. granted.command_rule(rule.execpolicy_amendment)
  elseif host and only(host, "network_policy_amendment") then
    local action = host.network_policy_amendment.action == "deny" and "Decline" or "Accept"
    return action .. ", and " .. granted.host_rule(host.network_policy_amendment)
  end
  return granted.json(decision)
end

local function prompt(p)
  local cwd = p.cwd and granted.value(vim.fn.fnamemodify(p.cwd, ":~")) or "?"
  local parts = { ("Run in %s: %s"):format(cwd, granted.visible(p.command or "?")) }
  if not p.command and p.networkApprovalContext then
    parts = { "Reach the network from " .. cwd }
  end
  parts[#parts + 1] = p.reason and granted.visible(p.reason)
  return table.concat(vim.list_extend(parts, granted.command(p)), " — ")
end

function M.show(p, done)
  local decisions = vim.deepcopy(p.availableDecisions or { "accept" })
  if not vim.tbl_contains(decisions, "decline") then
    local last = decisions[#decisions] == "cancel" and #decisions or #decisions + 1
    table.insert(decisions, last, "decline")
  end
  vim.ui.select(decisions, { prompt = prompt(p), format_item = label, kind = "codex-approval" }, done)
end

function M.answer(decision)
  return { decision = decision }
end

return M
