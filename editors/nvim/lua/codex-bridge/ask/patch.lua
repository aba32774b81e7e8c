-- A patch that Codex wants to write.
local granted = require("codex-bridge.ask.granted")

local M = {}

-- Asks once more, after the diff, about a patch that opens a folder: the bar above a diff has no room for it.
local function confirm_root(root, done)
  return function(decision)
    if decision ~= "accept" then
      return done(decision)
    end
    vim.ui.select({ "accept", "decline" }, {
      prompt = ("For the session this lets Codex write below %s."):format(granted.value(root)),
      kind = "codex-approval",
      format_item = function(choice)
        return choice == "accept" and "Accept" or "Decline"
      end,
    }, done)
  end
end

function M.show(p, done, item)
  if not item then
    -- Nobody can be shown what would be written.
    vim.notify("codex wants to write a patch that it has not shown; declined", vim.log.levels.WARN)
    return done("decline")
  end
  if p.grantRoot then
    done = confirm_root(p.grantRoot, done)
  end
  return require("codex-bridge.diff").show(item.changes, p.reason, done)
end

function M.answer(decision)
  return { decision = decision }
end

return M
