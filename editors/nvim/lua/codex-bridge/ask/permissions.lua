-- More permissions than the sandbox gives.
local granted = require("codex-bridge.ask.granted")

local M = {}

local function describe(permissions)
  local parts = granted.permissions(permissions)
  return #parts > 0 and table.concat(parts, "; ") or "do nothing more"
end

local choices = { { "turn", "Grant for this turn" }, { "session", "Grant for this session" }, { "decline", "Decline" } }

function M.show(p, done)
  local prompt = "Let Codex " .. describe(p.permissions) .. (p.reason and " — " .. granted.visible(p.reason) or "")
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

function M.answer(scope, p)
  if scope == "decline" then
    return { permissions = vim.empty_dict(), scope = "turn" }
  end
  return { permissions = p.permissions, scope = scope }
end

return M
