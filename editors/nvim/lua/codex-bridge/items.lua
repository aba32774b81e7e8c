-- How Codex's items look in the chat.
local chat = require("codex-bridge.chat")

local M = {}

local function user_text(item)
  local parts = {}
  for _, part in ipairs(item.content or {}) do
    parts[#parts + 1] = part.text or ("[%s %s]"):format(part.type, part.path or part.name or "")
  end
  return table.concat(parts, "\n")
end

local function relative(path)
  return vim.fn.fnamemodify(path, ":~:.")
end

local function names(changes)
  return table.concat(vim.tbl_map(function(change)
    return relative(change.path)
  end, changes), ", ")
end

-- A command without the shell that Codex runs it in.
local function command_line(command)
  return command:match("^%S*sh %-l?c '([^']*)'$") or command:match('^%S*sh %-l?c "([^"\\$`]*)"$') or command
end

-- One line of JSON for arguments.
local function json(value)
  return value == nil and "" or vim.json.encode(value)
end

local function contents(list)
  return table.concat(vim.tbl_map(function(part)
    return part.text or ("[%s]"):format(part.type)
  end, list or {}), "\n")
end

-- Of each type: head(item), and output, whether it is a tool's, body(item) once it is done.
local looks = {
  userMessage = { head = function() return "## You" end, body = user_text },
  agentMessage = { head = function() return "## Codex" end, body = function(item) return item.text end },
  plan = { head = function() return "## Plan" end, body = function(item) return item.text end },
  reasoning = {
    output = true,
    head = function() return "### Thinking" end,
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
    head = function(item) return "### Patch " .. names(item.changes) end,
    body = function(item) return table.concat(require("codex-bridge.diff").text(item.changes), "\n") end,
  },
  mcpToolCall = {
    output = true,
    head = function(item) return ("### %s.%s %s"):format(item.server, item.tool, json(item.arguments)) end,
    body = function(item)
      return item.error and item.error.message or contents(item.result and item.result.content)
    end,
  },
  dynamicToolCall = {
    output = true,
    head = function(item) return ("### %s %s"):format(item.tool, json(item.arguments)) end,
    body = function(item) return contents(item.contentItems) end,
  },
  webSearch = { head = function(item) return "### Search: " .. (item.query or "") end, body = function() return "" end },
  imageView = { head = function(item) return "### Looks at " .. relative(item.path) end, body = function() return "" end },
  contextCompaction = { head = function() return "### The conversation so far was summed up" end, body = function() return "" end },
}

local function ended(item)
  local words = {
    completed = { "done", "Comment" },
    failed = { "failed", "DiagnosticError" },
    declined = { "declined", "DiagnosticWarn" },
    inProgress = { "running", "DiagnosticInfo" },
  }
  local word = words[item.status] or { item.status or "", "Comment" }
  if item.exitCode then
    return "exit " .. item.exitCode, item.exitCode == 0 and "Comment" or "DiagnosticError"
  end
  return word[1], word[2]
end

function M.started(item)
  local look = looks[item.type]
  if not look or chat.has(item.id) or (look.hidden and look.hidden(item)) then
    return
  end
  chat.begin(item.id, look.head(item), { output = look.output })
  if item.type == "userMessage" or item.type == "fileChange" then
    chat.append(item.id, look.body(item))
  end
  if item.status then
    chat.state(item.id, ended(item))
  end
end

-- What did not stream in comes with the end of its item.
function M.completed(item)
  M.started(item)
  local look = looks[item.type]
  if not look then
    return
  end
  if not chat.written(item.id) then
    chat.append(item.id, look.body(item) or "")
  end
  if item.status then
    chat.state(item.id, ended(item))
  end
  chat.finish(item.id)
end

return M
