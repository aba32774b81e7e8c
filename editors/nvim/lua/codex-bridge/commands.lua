-- The commands.
local M = {}

local api = setmetatable({}, {
  __index = function(_, name)
    return require("codex-bridge")[name]
  end,
})

-- The lines of a range, with where they are from.
local function quoted(o)
  if o.range == 0 then
    return nil
  end
  local lines = vim.api.nvim_buf_get_lines(0, o.line1 - 1, o.line2, false)
  local name = vim.api.nvim_buf_get_name(0)
  local from = name == "" and "" or ("%s, lines %d to %d:\n"):format(vim.fn.fnamemodify(name, ":."), o.line1, o.line2)
  return ("%s```%s\n%s\n```"):format(from, vim.bo.filetype, table.concat(lines, "\n"))
end

local function ask(o)
  local quote = quoted(o)
  if o.args == "" then
    return quote and api.quote(quote) or api.open()
  end
  api.show()
  api.send(quote and o.args .. "\n\n" .. quote or o.args)
end

local function send(o)
  local quote = quoted(o)
  if o.args == "" and not quote then
    return require("codex-bridge.prompt").send()
  end
  api.show()
  api.send(quote and (o.args == "" and quote or o.args .. "\n\n" .. quote) or o.args)
end

function M.define()
  local command = vim.api.nvim_create_user_command
  command("Codex", ask, { nargs = "*", range = true, desc = "Open the chat; with a text, send it; with a range, ask about it" })
  command("CodexSend", send, { nargs = "*", range = true, desc = "Send a text, a range or the prompt; to the turn that runs, if one does" })
  command("CodexStop", function() api.stop() end, { desc = "Interrupt the turn" })
  command("CodexNew", function() api.new() end, { desc = "Begin a new thread" })
  command("CodexResume", function(o) api.resume(o.args) end, { nargs = "?", desc = "Go on with a thread" })
  command("CodexApprovals", function() api.approvals() end, { desc = "Answer what Codex waits for" })
  command("CodexTrace", function() api.trace() end, { desc = "Show what was said in this thread" })
  command("CodexImage", function(o) api.image(o.args) end, { nargs = "?", complete = "file", desc = "Put a picture to the next text" })
end

return M
