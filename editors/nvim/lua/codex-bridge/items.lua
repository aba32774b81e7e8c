-- Shows Codex's items in the chat.
local display = require("codex-bridge.display")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local function user_text(item)
  local parts = {}
  for _, part in ipairs(item.content or {}) do
    parts[#parts + 1] = part.text or ("[%s %s]"):format(part.type, part.path or part.name or "")
  end
  return table.concat(parts, "\n")
end

local function file_names(changes)
  return table.concat(vim.tbl_map(function(change)
    return display.path(ui.short_path(change.path))
  end, changes), ", ")
end

local shells = { bash = true, dash = true, ksh = true, sh = true, zsh = true }
local folders = { [""] = true, ["/bin/"] = true, ["/usr/bin/"] = true, ["/usr/local/bin/"] = true }

-- Returns a command in a line, without the shell of the system that Codex runs it in. Another program keeps its name, also
-- one that is called like a shell. Not for questions, which show the whole command.
local function command_line(command)
  local folder, program, script = command:match("^(%S-)([^/%s]+) %-l?c (.+)$")
  if shells[program] and folders[folder] then
    command = script:match("^'([^']+)'$") or script:match('^"([^"\\$`!]+)"$') or script:match("^[%w_./:=@%%+-]+$") or command
  end
  return display.value(command)
end

local function json(value)
  return value == nil and "" or display.json(value)
end

local function contents(list)
  return table.concat(vim.tbl_map(function(part)
    return part.text or ("[%s]"):format(part.type)
  end, list or {}), "\n")
end

-- By item type. head(item) is a line. body(item) is the text, complete at the end of the item. output: the body is
-- the output of a tool, in a language if known. prose: the body is markdown; keep_marks: its marks are visible. hidden(item): the item is not shown yet.
local renderers = {
  userMessage = { prose = true, keep_marks = true, head = function() return S.you end, body = user_text },
  agentMessage = { prose = true, head = function() return S.codex end, body = function(item) return item.text end },
  plan = { prose = true, head = function() return S.plan end, body = function(item) return item.text end },
  reasoning = {
    output = true,
    head = function() return S.thinking end,
    body = function(item) return table.concat(item.summary or {}, "\n") end,
    hidden = function(item) return #(item.summary or {}) == 0 end,
  },
  commandExecution = {
    output = true,
    head = function(item) return "### $ " .. command_line(item.command) end,
    body = function(item) return item.aggregatedOutput or "" end,
  },
  fileChange = {
    output = true,
    language = "diff",
    head = function(item) return S.patch:format(file_names(item.changes)) end,
    body = function(item) return table.concat(require("codex-bridge.diff").lines(item.changes), "\n") end,
  },
  mcpToolCall = {
    output = true,
    head = function(item) return ("### %s.%s %s"):format(display.value(item.server), display.value(item.tool), json(item.arguments)) end,
    body = function(item)
      return item.error and item.error.message or contents(item.result and item.result.content)
    end,
  },
  dynamicToolCall = {
    output = true,
    head = function(item) return ("### %s %s"):format(display.value(item.tool), json(item.arguments)) end,
    body = function(item) return contents(item.contentItems) end,
  },
  webSearch = { head = function(item) return S.search:format(display.value(item.query or "")) end, body = function() return "" end },
  imageView = { head = function(item) return S.view_image:format(display.value(ui.short_path(item.path))) end, body = function() return "" end },
  enteredReviewMode = { prose = true, head = function() return S.review_begins end, body = function(item) return item.review end },
  exitedReviewMode = { prose = true, head = function() return S.review end, body = function(item) return item.review end },
  contextCompaction = { head = function() return S.compacted end, body = function() return "" end },
}

-- Returns the status of an item as a text and its highlight group.
local function status(item)
  local texts = {
    completed = { S.done, "Comment" },
    failed = { S.failed, "DiagnosticError" },
    declined = { S.declined, "DiagnosticWarn" },
    inProgress = { S.running, "DiagnosticInfo" },
  }
  local text = texts[item.status] or { item.status or "", "Comment" }
  if item.exitCode then
    return S.exit:format(item.exitCode), item.exitCode == 0 and "Comment" or "DiagnosticError"
  end
  return text[1], text[2]
end

-- Starts the block of an item in a chat.
function M.started(chat, item)
  local renderer = renderers[item.type]
  if not renderer or chat:has(item.id) or (renderer.hidden and renderer.hidden(item)) then
    return
  end
  chat:start_block(item.id, renderer.head(item), renderer)
  if item.type == "userMessage" or item.type == "fileChange" then
    chat:append(item.id, renderer.body(item))
  end
  if item.status then
    chat:set_state(item.id, status(item))
  end
end

-- Completes the block of an item. An item without deltas has its body only now.
function M.completed(chat, item)
  M.started(chat, item)
  local renderer = renderers[item.type]
  if not renderer then
    return
  end
  if not chat:has_body(item.id) then
    chat:append(item.id, renderer.body(item) or "")
  elseif renderer.prose then
    chat:complete_prose(item.id, renderer.body(item) or "")
  end
  if item.status then
    chat:set_state(item.id, status(item))
  end
  chat:finish(item.id)
end

-- Shows the plan of a turn: one block, which changes with each update.
function M.plan(chat, p)
  local id = "plan " .. p.turnId
  if not chat:has(id) then
    chat:start_block(id, S.todo, {})
  end
  local lines = vim.tbl_map(function(step)
    return ("- [%s] %s"):format(step.status == "completed" and "x" or step.status == "inProgress" and ">" or " ", step.step)
  end, p.plan)
  if p.explanation and p.explanation ~= "" then
    table.insert(lines, 1, p.explanation)
  end
  chat:set_body(id, lines)
end

return M
