-- item/permissions/requestApproval: Codex requests more permissions than the sandbox gives.
local describe = require("codex-bridge.requests.describe")

local M = {}

local function summary(permissions)
  local parts = describe.permissions(permissions)
  return #parts > 0 and table.concat(parts, "; ") or "do nothing more"
end

local choices = { { "turn", "Grant for this turn" }, { "session", "Grant for this session" }, { "decline", "Decline" } }

function M.show(p, done)
  local prompt = "Let Codex " .. summary(p.permissions) .. (p.reason and " — " .. describe.visible(p.reason) or "")
  vim.ui.select(choices, {
    prompt = prompt,
    kind = "codex-approval",
    format_item = function(choice)
      return choice[2]
    end,
  }, function(choice)
    done(choice and choice[1])
  end)
end

function M.response(scope, p)
  if scope == "decline" then
    return { permissions = vim.empty_dict(), scope = "turn" }
  end
  return { permissions = p.permissions, scope = scope }
end

return M
