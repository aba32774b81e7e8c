-- item/commandExecution/requestApproval: Codex wants to run a command.
local describe = require("codex-bridge.requests.describe")

local M = {}

local labels = {
  accept = "Accept",
  acceptForSession = "Accept, and do not ask again in this session",
  decline = "Decline",
  cancel = "Decline, and stop the turn",
}

-- Returns decision[name] if it is a table and the only member, else nil.
local function only_member(decision, name)
  return next(decision, next(decision)) == nil and type(decision[name]) == "table" and decision[name] or nil
end

local function label(decision)
  if type(decision) == "string" then
    return labels[decision] or describe.value(decision)
  end
  local rule, host = only_member(decision, "acceptWithExecpolicyAmendment"), only_member(decision, "applyNetworkPolicyAmendment")
  if rule and only_member(rule, "execpolicy_amendment") then
    return "Accept, and " .. describe.command_rule(rule.execpolicy_amendment)
  elseif host and only_member(host, "network_policy_amendment") then
    local action = host.network_policy_amendment.action == "deny" and "Decline" or "Accept"
    return action .. ", and " .. describe.host_rule(host.network_policy_amendment)
  end
  return describe.json(decision)
end

local function prompt(p)
  local cwd = p.cwd and describe.value(vim.fn.fnamemodify(p.cwd, ":~")) or "?"
  local parts = { ("Run in %s: %s"):format(cwd, describe.visible(p.command or "?")) }
  if not p.command and p.networkApprovalContext then
    parts = { "Reach the network from " .. cwd }
  end
  parts[#parts + 1] = p.reason and describe.visible(p.reason)
  return table.concat(vim.list_extend(parts, describe.command(p)), " — ")
end

function M.show(p, done)
  local decisions = vim.deepcopy(p.availableDecisions or { "accept" })
  if not vim.tbl_contains(decisions, "decline") then
    local last = decisions[#decisions] == "cancel" and #decisions or #decisions + 1
    table.insert(decisions, last, "decline")
  end
  vim.ui.select(decisions, { prompt = prompt(p), format_item = label, kind = "codex-approval" }, done)
end

function M.response(decision)
  return { decision = decision }
end

return M
