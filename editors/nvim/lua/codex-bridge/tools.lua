-- Editor tools that the model may call. They are read-only.
local config = require("codex-bridge.config")
local file_window = require("codex-bridge.file_window")

local M = {}

local MAX_LINES = 200

local function object_schema(properties)
  return { type = "object", properties = next(properties) and properties or vim.empty_dict(), additionalProperties = false }
end

-- Returns the buffer of a path, or nil. Without a path: the buffer of the user's current window.
local function find_buffer(path)
  if not path then
    local window = file_window.get()
    return window and vim.api.nvim_win_get_buf(window)
  end
  local buf = vim.fn.bufnr("^" .. vim.fn.fnameescape(vim.fn.fnamemodify(path, ":p")) .. "$")
  return buf > 0 and buf or nil
end

local function buffer_name(buf)
  return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ":.")
end

-- Joins at most MAX_LINES lines; none is the result for no lines.
local function join(lines, none)
  if #lines == 0 then
    return none
  elseif #lines > MAX_LINES then
    lines = vim.list_extend(vim.list_slice(lines, 1, MAX_LINES), { ("… and %d more"):format(#lines - MAX_LINES) })
  end
  return table.concat(lines, "\n")
end

-- Returns a diagnostic as a line: "sum.py:2:7: warn: unused b [lint]".
function M.diagnostic_line(d)
  return ("%s:%d:%d: %s: %s%s"):format(
    buffer_name(d.bufnr), d.lnum + 1, d.col + 1, vim.diagnostic.severity[d.severity]:lower(), d.message:gsub("\n", " "), d.source and (" [%s]"):format(d.source) or ""
  )
end

local function diagnostics(arguments)
  local buf
  if arguments.path then
    buf = find_buffer(arguments.path)
    if not buf then
      return nil, arguments.path .. " is not open in the editor"
    end
  end
  return join(vim.tbl_map(M.diagnostic_line, vim.diagnostic.get(buf)), "no diagnostics")
end

local function buffers()
  local lines, window = {}, file_window.get()
  local current = window and vim.api.nvim_win_get_buf(window)
  for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
    if info.name ~= "" and vim.bo[info.bufnr].buftype == "" then
      local marks = { info.bufnr == current and "current" or nil, info.changed == 1 and "unsaved changes" or nil, #info.windows > 0 and "visible" or nil }
      local notes = {}
      for i = 1, 3 do
        notes[#notes + 1] = marks[i]
      end
      lines[#lines + 1] = buffer_name(info.bufnr) .. (#notes > 0 and (" (%s)"):format(table.concat(notes, ", ")) or "")
    end
  end
  return join(lines, "no files are open")
end

local function selection()
  local window = file_window.get()
  if not window then
    return "no file is open"
  end
  return vim.api.nvim_win_call(window, function()
    local buf, row = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
    local first, last = vim.fn.getpos("'<"), vim.fn.getpos("'>")
    local head = ("%s, line %d of %d"):format(buffer_name(buf), row, vim.api.nvim_buf_line_count(buf))
    if first[2] == 0 then
      local around = vim.api.nvim_buf_get_lines(buf, math.max(0, row - 6), row + 5, false)
      return head .. "; nothing is selected. Around the cursor:\n" .. table.concat(around, "\n")
    end
    local text = vim.fn.getregion(first, last, { type = vim.fn.visualmode() })
    return ("%s; selected, lines %d to %d:\n%s"):format(head, first[2], last[2], table.concat(text, "\n"))
  end)
end

local function flatten(symbols, depth, lines)
  for _, s in ipairs(symbols) do
    local range = s.selectionRange or s.range or (s.location and s.location.range)
    local kind = vim.lsp.protocol.SymbolKind[s.kind] or s.kind
    lines[#lines + 1] = ("%s%s %s, line %d"):format(("  "):rep(depth), kind, s.name, range and range.start.line + 1 or 0)
    flatten(s.children or {}, depth + 1, lines)
  end
  return lines
end

-- Yields the coroutine of the request until the language servers respond.
local function symbols(arguments)
  local buf = find_buffer(arguments.path)
  if not buf then
    return nil, (arguments.path or "a file") .. " is not open in the editor"
  end
  local method = "textDocument/documentSymbol"
  if #vim.lsp.get_clients({ bufnr = buf, method = method }) == 0 then
    return nil, "no language server offers the symbols of " .. buffer_name(buf)
  end
  local current = coroutine.running()
  vim.lsp.buf_request_all(buf, method, { textDocument = { uri = vim.uri_from_bufnr(buf) } }, function(results)
    coroutine.resume(current, results)
  end)
  local lines = {}
  for _, response in pairs(coroutine.yield()) do
    flatten(response.result or {}, 0, lines)
  end
  return join(lines, "no symbols")
end

local path = { path = { type = "string", description = "A file, absolute or relative to the working directory." } }

local tools = {
  {
    setting = "diagnostics", name = "editor_diagnostics", run = diagnostics, schema = object_schema(path),
    description = "Current errors and warnings of one open file or of all files, from the user's editor.",
  },
  {
    setting = "buffers", name = "editor_buffers", run = buffers, schema = object_schema({}),
    description = "The open files of the user's editor: the current one, the visible ones, and those with unsaved changes.",
  },
  {
    setting = "symbols", name = "editor_symbols", run = symbols, schema = object_schema(path),
    description = "The symbols (functions, types, variables) of an open file, from the editor's language server. Without a path: the current file.",
  },
  {
    setting = "selection", name = "editor_selection", run = selection, schema = object_schema({}),
    description = "The user's selection in the editor, or the lines around the cursor.",
  },
}

-- Returns the enabled tools as dynamicTools of thread/start, or nil if there are none.
function M.dynamic_tools()
  local specs = {}
  for _, tool in ipairs(tools) do
    if config.current.tools[tool.setting] then
      specs[#specs + 1] = { type = "function", name = tool.name, description = tool.description, inputSchema = tool.schema }
    end
  end
  return #specs > 0 and specs or nil
end

-- Registers the tools with the bridge, for all threads; done(err). Plain Codex gets them with thread/start.
function M.register(connection, done)
  local specs = M.dynamic_tools()
  if not specs or not connection:supports("bridge/tool/register") then
    return done(nil)
  end
  connection:request("bridge/tool/register", { tools = specs }, function(err)
    done(err and err.message)
  end)
end

local function response(text, success)
  return { contentItems = { { type = "inputText", text = text } }, success = success }
end

-- Returns the response to item/tool/call.
function M.call(params)
  for _, tool in ipairs(tools) do
    if tool.name == params.tool and config.current.tools[tool.setting] then
      local arguments = type(params.arguments) == "table" and params.arguments or {}
      local ok, text, err = pcall(tool.run, arguments)
      if not ok then
        return response(tostring(text), false)
      end
      return response(text or err, text ~= nil)
    end
  end
  return response("the editor has no tool " .. tostring(params.tool), false)
end

return M
