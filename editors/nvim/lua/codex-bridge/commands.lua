-- Defines the user commands.
local S = require("codex-bridge.strings")

local M = {}

-- The Lua API, loaded with the first command.
local api = setmetatable({}, {
  __index = function(_, name)
    return require("codex-bridge")[name]
  end,
})

-- Returns the first and last line of a command's range, or nil without one.
local function lines_of(o)
  if o.range > 0 then
    return o.line1, o.line2
  end
end

-- Opens the prompt with an attachment of the current buffer. make: a function of chips.lua.
local function attach(make, first, last)
  local chip = require("codex-bridge.chips")[make](vim.api.nvim_get_current_buf(), first, last)
  if not chip then
    return vim.notify(S.no_problems, vim.log.levels.INFO)
  end
  api.open()
  require("codex-bridge.prompt").attach(chip)
end

-- Returns the text of a command with the lines of its range.
local function text_of(o)
  local first, last = lines_of(o)
  local quote = first and require("codex-bridge.chips").quote(0, first, last)
  return quote and (o.args == "" and quote or o.args .. "\n\n" .. quote) or o.args
end

local function open_or_send(o)
  if o.args == "" and o.range > 0 then
    return attach("selection", lines_of(o))
  elseif o.args == "" then
    return api.toggle()
  end
  require("codex-bridge.slash").run(o.args, function()
    local text = text_of(o)
    api.show()
    api.send(text)
  end, function() end)
end

-- Completes the commands that begin with a slash, and, after @, files and folders.
local function complete(lead, line)
  if vim.startswith(lead, "@") then
    return vim.tbl_map(function(name)
      return "@" .. name
    end, require("codex-bridge.files").match(lead:sub(2)))
  elseif line:match("^%S+%s+%S*$") then
    return vim.tbl_map(function(command)
      return "/" .. command.name
    end, require("codex-bridge.slash").match((lead:gsub("^/", ""))))
  end
  return {}
end

local function send(o)
  if o.args == "" and o.range == 0 then
    return require("codex-bridge.prompt").send()
  end
  local text = text_of(o)
  api.show()
  api.send(text)
end

local function diagnostics(o)
  local first, last = lines_of(o)
  attach("diagnostics", first or 1, last or vim.api.nvim_buf_line_count(0))
end

function M.define()
  local command = vim.api.nvim_create_user_command
  command("Codex", open_or_send, { nargs = "*", range = true, complete = complete, desc = S.commands.Codex })
  command("CodexSend", send, { nargs = "*", range = true, desc = S.commands.CodexSend })
  command("CodexStop", function() api.stop() end, { desc = S.commands.CodexStop })
  command("CodexNew", function() api.new() end, { desc = S.commands.CodexNew })
  command("CodexResume", function(o) api.resume(o.args) end, { nargs = "?", desc = S.commands.CodexResume })
  command("CodexThreads", function(o) api.threads(o.args) end, { nargs = "*", desc = S.commands.CodexThreads })
  command("CodexChat", function() api.chat() end, { desc = S.commands.CodexChat })
  command("CodexChats", function() api.chats() end, { desc = S.commands.CodexChats })
  command("CodexDiagnostics", diagnostics, { range = true, desc = S.commands.CodexDiagnostics })
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
  command("CodexChanges", function() api.changes() end, { desc = S.commands.CodexChanges })
  command("CodexRestore", function() api.restore() end, { desc = S.commands.CodexRestore })
  command("CodexUnrestore", function() api.unrestore() end, { desc = S.commands.CodexUnrestore })
end

return M
