-- Defines the user commands.
local M = {}

-- The Lua API, loaded with the first command.
local api = setmetatable({}, {
  __index = function(_, name)
    return require("codex-bridge")[name]
  end,
})

-- Returns the lines of a command's range as a code block below their location, or nil without a range.
local function quote_range(o)
  if o.range == 0 then
    return nil
  end
  local lines = vim.api.nvim_buf_get_lines(0, o.line1 - 1, o.line2, false)
  local name = vim.api.nvim_buf_get_name(0)
  local location = name == "" and "" or ("%s, lines %d to %d:\n"):format(vim.fn.fnamemodify(name, ":."), o.line1, o.line2)
  return ("%s```%s\n%s\n```"):format(location, vim.bo.filetype, table.concat(lines, "\n"))
end

local function open_or_send(o)
  local quote = quote_range(o)
  if o.args == "" then
    return quote and api.quote(quote) or api.open()
  end
  api.show()
  api.send(quote and o.args .. "\n\n" .. quote or o.args)
end

local function send(o)
  local quote = quote_range(o)
  if o.args == "" and not quote then
    return require("codex-bridge.prompt").send()
  end
  api.show()
  api.send(quote and (o.args == "" and quote or o.args .. "\n\n" .. quote) or o.args)
end

function M.define()
  local command = vim.api.nvim_create_user_command
  command("Codex", open_or_send, { nargs = "*", range = true, desc = "Open the chat, send a text, or ask about a range" })
  command("CodexSend", send, { nargs = "*", range = true, desc = "Send a text, a range or the prompt; steers a running turn" })
  command("CodexStop", function() api.stop() end, { desc = "Interrupt the turn" })
  command("CodexNew", function() api.new() end, { desc = "Start a new thread" })
  command("CodexResume", function(o) api.resume(o.args) end, { nargs = "?", desc = "Resume a thread" })
  command("CodexApprovals", function() api.approvals() end, { desc = "Show pending approvals and questions" })
  command("CodexTrace", function() api.trace() end, { desc = "Open the trace of this thread" })
  command("CodexImage", function(o) api.image(o.args) end, { nargs = "?", complete = "file", desc = "Attach an image to the next message" })
end

return M
