-- item/commandExecution/requestApproval: Codex wants to run a command.
local choices = require("codex-bridge.requests.choices")
local describe = require("codex-bridge.requests.describe")
local display = require("codex-bridge.display")
local S = require("codex-bridge.strings")

local M = {}

local labels = { accept = S.accept, decline = S.decline, cancel = S.cancel }

-- Returns decision[name] if it is a table and the only member, else nil.
local function only_member(decision, name)
  return next(decision, next(decision)) == nil and type(decision[name]) == "table" and decision[name] or nil
end

-- Returns the choice for a decision that Codex offers and keeps itself.
local function codex_choice(decision)
  if decision == "acceptForSession" then
    return { name = "accept_session", label = S.accept_codex_session, value = decision }
  elseif type(decision) == "string" then
    return { name = decision, label = labels[decision] or display.value(decision), value = decision }
  end
  local rule, host = only_member(decision, "acceptWithExecpolicyAmendment"), only_member(decision, "applyNetworkPolicyAmendment")
  if rule and only_member(rule, "execpolicy_amendment") then
    return { name = "accept_always", label = S.accept_and:format(describe.command_rule(rule.execpolicy_amendment)), value = decision }
  elseif host and only_member(host, "network_policy_amendment") then
    local text = host.network_policy_amendment.action == "deny" and S.decline_and or S.accept_and
    return { name = "host", label = text:format(describe.host_rule(host.network_policy_amendment)), value = decision }
  end
  return { name = "other", label = display.json(decision), value = decision }
end

-- Returns the choice for a decision that Codex offers; nil if the bridge would not keep it.
local function bridge_choice(decision, hint)
  if decision == "acceptForSession" then
    return choices.kept(hint, "session", decision)
  elseif type(decision) == "string" then
    return { name = decision, label = labels[decision] or display.value(decision), value = decision }
  elseif only_member(decision, "acceptWithExecpolicyAmendment") then
    return choices.kept(hint, "always", decision)
  end
end

local function all_choices(p)
  local all = {}
  for _, decision in ipairs(p.availableDecisions or { "accept" }) do
    all[#all + 1] = p.bridge and bridge_choice(decision, p.bridge) or not p.bridge and codex_choice(decision) or nil
  end
  local names = vim.tbl_map(function(choice)
    return choice.name
  end, all)
  if not vim.tbl_contains(names, "decline") then
    local last = names[#names] == "cancel" and #all or #all + 1
    table.insert(all, last, { name = "decline", label = S.decline, value = "decline" })
  end
  return all
end

-- Returns the options of the card.
function M.card(p)
  local reason, leaves, said = describe.reason(p)
  local rows = {}
  local network = not p.command and p.networkApprovalContext
  rows[1] = { S.what, network and S.reach_network or p.command and display.command(p.command) or "?" }
  rows[2] = { S.folder, p.cwd and display.value(vim.fn.fnamemodify(p.cwd, ":~")) or "?" }
  -- Without a policy Codex runs what it asks about outside its sandbox.
  leaves = leaves or not p.bridge and not network and S.runs_outside or nil
  if leaves then
    rows[#rows + 1] = { S.leaves, leaves }
  end
  if reason then
    rows[#rows + 1] = { S.reason, reason }
  end
  for _, text in ipairs(describe.command(p)) do
    rows[#rows + 1] = { S.grants_more, text }
  end
  if said then
    rows[#rows + 1] = describe.quotation(said)
  end
  return {
    title = leaves and S.leaves_sandbox or network and S.asks_network or S.asks_command,
    highlight = (leaves or network) and "DiagnosticWarn" or nil, rows = rows, choices = all_choices(p),
  }
end

function M.show(request, done)
  return choices.show(M.card(request.params), request, done)
end

function M.response(decision)
  return { decision = decision }
end

return M
