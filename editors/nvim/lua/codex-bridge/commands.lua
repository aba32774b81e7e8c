-- Defines the user commands.
local S = require("codex-bridge.strings")

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
  local location = name == "" and "" or S.range:format(vim.fn.fnamemodify(name, ":."), o.line1, o.line2)
  local fence = "```"
  for _, line in ipairs(lines) do
    local ticks = line:match("^%s*(`+)")
    if ticks and #ticks >= #fence then
      fence = ("`"):rep(#ticks + 1)
    end
  end
  return ("%s%s%s\n%s\n%s"):format(location, fence, vim.bo.filetype, table.concat(lines, "\n"), fence)
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
  command("Codex", open_or_send, { nargs = "*", range = true, desc = S.commands.Codex })
  command("CodexSend", send, { nargs = "*", range = true, desc = S.commands.CodexSend })
  command("CodexStop", function() api.stop() end, { desc = S.commands.CodexStop })
  command("CodexNew", function() api.new() end, { desc = S.commands.CodexNew })
  command("CodexResume", function(o) api.resume(o.args) end, { nargs = "?", desc = S.commands.CodexResume })
  command("CodexApprovals", function() api.approvals() end, { desc = S.commands.CodexApprovals })
  command("CodexAccept", function() api.answer("accept") end, { desc = S.commands.CodexAccept })
  command("CodexDecline", function() api.answer("decline") end, { desc = S.commands.CodexDecline })
  command("CodexStatus", function() api.show_status() end, { desc = S.commands.CodexStatus })
  command("CodexGrants", function() api.grants() end, { desc = S.commands.CodexGrants })
  command("CodexDecisions", function() api.decisions() end, { desc = S.commands.CodexDecisions })
  command("CodexTry", function(o) api.try(o.args) end, { nargs = "*", complete = "shellcmd", desc = S.commands.CodexTry })
  command("CodexOpenPolicy", function() api.open_policy() end, { desc = S.commands.CodexOpenPolicy })
  command("CodexExplain", function() api.explain() end, { desc = S.commands.CodexExplain })
  command("CodexTrace", function() api.trace() end, { desc = S.commands.CodexTrace })
  command("CodexImage", function(o) api.image(o.args) end, { nargs = "?", complete = "file", desc = S.commands.CodexImage })
end

return M
