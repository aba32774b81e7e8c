-- Lets the user switch between the chats.
local S = require("codex-bridge.strings")

local M = {}

local function label(conversation)
  local current = require("codex-bridge.session").current()
  local parts = { conversation:title(), conversation:state() == "working" and S.working or nil }
  local pending = require("codex-bridge.requests").count(conversation.thread and conversation.thread.id or "")
  if pending > 0 then
    parts[#parts + 1] = S.pending:format(pending)
  end
  local text = table.concat(parts, " · ")
  return conversation == current and S.current_choice:format(text) or text
end

-- Shows a list of the chats, with a new one and the end of the current one.
function M.show()
  local session = require("codex-bridge.session")
  local entries = vim.tbl_map(function(conversation)
    return { label = label(conversation), action = function() session.switch(conversation) end }
  end, session.all())
  entries[#entries + 1] = { label = S.new_chat, action = session.open_chat }
  if #entries > 2 then
    entries[#entries + 1] = { label = S.close_chat, action = function() session.close_chat(session.current()) end }
  end
  vim.ui.select(entries, {
    prompt = S.chats,
    kind = "codex-chat",
    format_item = function(entry)
      return entry.label
    end,
  }, function(entry)
    if entry then
      entry.action()
      require("codex-bridge.view").open()
    end
  end)
end

return M
