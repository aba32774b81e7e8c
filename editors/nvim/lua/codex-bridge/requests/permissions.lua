-- item/permissions/requestApproval: Codex requests more permissions than the sandbox gives.
local choices = require("codex-bridge.requests.choices")
local describe = require("codex-bridge.requests.describe")
local S = require("codex-bridge.strings")

local M = {}

-- Returns the options of the card.
function M.card(p)
  local _, _, said = describe.reason(p)
  local parts = describe.permissions(p.permissions)
  local rows = {}
  for i, part in ipairs(#parts > 0 and parts or { S.nothing_more }) do
    rows[i] = { i == 1 and S.leaves or "", part }
  end
  if said then
    rows[#rows + 1] = describe.quotation(said)
  end
  local all = { { name = "accept", label = S.grant_turn, value = "turn" } }
  if not p.bridge then -- a policy reduces every grant to the turn
    all[2] = { name = "accept_session", label = S.grant_session, value = "session" }
  end
  all[#all + 1] = { name = "decline", label = S.decline, value = "decline" }
  return { title = S.leaves_sandbox, highlight = "DiagnosticWarn", rows = rows, choices = all }
end

function M.show(request, done)
  return choices.show(M.card(request.params), request, done)
end

function M.response(scope, p)
  if scope == "decline" then
    return { permissions = vim.empty_dict(), scope = "turn" }
  end
  return { permissions = p.permissions, scope = scope }
end

return M
