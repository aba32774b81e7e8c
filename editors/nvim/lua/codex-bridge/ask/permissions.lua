-- More permissions than the sandbox gives.
local M = {}

local function describe(permissions)
  local lines = {}
  local files = permissions.fileSystem or {}
  for _, kind in ipairs({ "read", "write" }) do
    if files[kind] and #files[kind] > 0 then
      lines[#lines + 1] = ("%s %s"):format(kind, table.concat(files[kind], ", "))
    end
  end
  if permissions.network and permissions.network.enabled then
    lines[#lines + 1] = "use the network"
  end
  return #lines > 0 and table.concat(lines, "; ") or vim.json.encode(permissions)
end

local choices = { { "turn", "Grant for this turn" }, { "session", "Grant for this session" }, { "decline", "Decline" } }

function M.show(p, done)
  local prompt = "Let Codex " .. describe(p.permissions) .. (p.reason and " — " .. p.reason or "")
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
