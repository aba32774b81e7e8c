-- Lets the user choose a thread to resume.
local S = require("codex-bridge.strings")

local M = {}

-- Shows the threads of the current directory; callback(id) with the choice.
function M.threads(callback)
  require("codex-bridge.session").threads(function(err, list)
    if err then
      return vim.notify(S.error:format(err), vim.log.levels.ERROR)
    elseif #list == 0 then
      return vim.notify(S.no_threads, vim.log.levels.INFO)
    end
    vim.ui.select(list, {
      prompt = S.resume_thread,
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
