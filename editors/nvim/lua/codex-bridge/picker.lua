-- Lets the user choose a thread to resume.
local M = {}

-- Shows the threads of the current directory; callback(id) with the choice.
function M.threads(callback)
  require("codex-bridge.session").threads(function(err, list)
    if err then
      return vim.notify("codex: " .. err, vim.log.levels.ERROR)
    elseif #list == 0 then
      return vim.notify("codex: no threads in this folder yet", vim.log.levels.INFO)
    end
    vim.ui.select(list, {
      prompt = "Resume a thread",
      kind = "codex-thread",
      format_item = function(t)
        return os.date("%Y-%m-%d %H:%M ", t.updatedAt) .. (t.name or t.preview):gsub("%s+", " "):sub(1, 80)
      end,
    }, function(choice)
      if choice then
        callback(choice.id)
      end
    end)
  end)
end

return M
