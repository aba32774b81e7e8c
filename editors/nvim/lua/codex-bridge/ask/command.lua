-- A command that Codex wants to run.
local M = {}

local names = {
  accept = "Accept",
  acceptForSession = "Accept, and do not ask for the same again in this session",
  decline = "Decline",
  cancel = "Decline, and stop the turn",
}

local function label(decision)
  if type(decision) == "string" then
    return names[decision] or decision
  end
  local rule = decision.acceptWithExecpolicyAmendment
  if rule then
    return "Accept, and always what begins with: " .. table.concat(rule.execpolicy_amendment, " ")
  end
  local host = decision.applyNetworkPolicyAmendment and decision.applyNetworkPolicyAmendment.network_policy_amendment
  return host and ("%s %s from now on"):format(host.action == "deny" and "Deny" or "Allow", host.host) or vim.json.encode(decision)
end

local function prompt(p)
  local what = p.command
  if not what and p.networkApprovalContext then
    what = "reach " .. (p.networkApprovalContext.host or "the network")
  end
  local text = ("Run in %s: %s"):format(p.cwd and vim.fn.fnamemodify(p.cwd, ":~") or "?", what or "?")
  return p.reason and ("%s — %s"):format(text, p.reason) or text
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
