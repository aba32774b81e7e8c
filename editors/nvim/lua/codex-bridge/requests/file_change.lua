-- item/fileChange/requestApproval: Codex wants to write a patch.
local describe = require("codex-bridge.requests.describe")

local M = {}

-- Asks a second question, after the diff, about a patch with a grantRoot. The winbar of the diff has no room for it.
local function confirm_root(root, done)
  return function(decision)
    if decision ~= "accept" then
      return done(decision)
    end
    vim.ui.select({ "accept", "decline" }, {
      prompt = ("This lets Codex write below %s for the session."):format(describe.value(root)),
      kind = "codex-approval",
      format_item = function(choice)
        return choice == "accept" and "Accept" or "Decline"
      end,
    }, done)
  end
end

function M.show(p, done, item)
  if not item then
    vim.notify("codex sent no content for a patch; declined", vim.log.levels.WARN)
    return done("decline")
  end
  if p.grantRoot then
    done = confirm_root(p.grantRoot, done)
  end
  return require("codex-bridge.diff").show(item.changes, p.reason, done)
end

function M.response(decision)
  return { decision = decision }
end

return M
