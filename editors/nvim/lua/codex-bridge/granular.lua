-- The granular approval policy of Codex, { granular = { kind = boolean } }: for each kind of question, whether Codex asks it,
-- or refuses without a question.
local S = require("codex-bridge.strings")

local M = {}

M.kinds = { "sandbox_approval", "rules", "skill_approval", "request_permissions", "mcp_elicitations" }

-- The granular policy that asks everything.
function M.all()
  local asked = {}
  for _, kind in ipairs(M.kinds) do
    asked[kind] = true
  end
  return { granular = asked }
end

function M.is(value)
  return type(value) == "table" and type(value.granular) == "table"
end

-- Returns the name of an approval policy.
function M.label(value)
  return M.is(value) and "granular" or value
end

-- Says what a granular policy asks, and what it refuses.
function M.describe(value)
  local asked, refused = {}, {}
  for _, kind in ipairs(M.kinds) do
    table.insert(value.granular[kind] == true and asked or refused, S.kinds[kind])
  end
  local asks = #asked > 0 and S.granular_asks:format(table.concat(asked, ", ")) or nil
  local refuses = #refused > 0 and S.granular_refuses:format(table.concat(refused, ", ")) or nil
  return asks and refuses and asks .. " " .. refuses or asks or refuses
end

-- Returns a policy with one kind of questions changed: asked or not.
function M.toggle(value, changed)
  local asked = {}
  for _, kind in ipairs(M.kinds) do
    asked[kind] = (value.granular[kind] == true) ~= (kind == changed)
  end
  return { granular = asked }
end

return M
