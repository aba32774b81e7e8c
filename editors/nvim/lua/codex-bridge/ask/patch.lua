-- A patch that Codex wants to write.
local M = {}

function M.show(p, done, item)
  if not item then
    -- Nobody can be shown what would be written.
    vim.notify("codex wants to write a patch that it has not shown; declined", vim.log.levels.WARN)
    return done("decline")
  end
  return require("codex-bridge.diff").show(item.changes, p.reason, done)
end

function M.answer(decision)
  return { decision = decision }
end

return M
