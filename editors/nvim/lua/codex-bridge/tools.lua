-- Tools of the editor that the model may call. They look, and change nothing.
local config = require("codex-bridge.config")
local where = require("codex-bridge.where")

local M = {}

local MAX = 200 -- of anything that is listed

local function object(properties)
  return { type = "object", properties = next(properties) and properties or vim.empty_dict(), additionalProperties = false }
end

local function buffer_of(path)
  if not path then
    local window = where.window()
    return window and vim.api.nvim_win_get_buf(window)
  end
  local buf = vim.fn.bufnr("^" .. vim.fn.fnameescape(vim.fn.fnamemodify(path, ":p")) .. "$")
  return buf > 0 and buf or nil
end

local function short(buf)
  return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ":.")
end

local function listed(lines, none)
  if #lines == 0 then
    return none
  elseif #lines > MAX then
    lines = vim.list_extend(vim.list_slice(lines, 1, MAX), { ("… and %d more"):format(#lines - MAX) })
  end
  return table.concat(lines, "\n")
end

local function diagnostics(arguments)
  local buf
  if arguments.path then
    buf = buffer_of(arguments.path)
    if not buf then
      return nil, arguments.path .. " is not open in the editor"
    end
  end
  local lines = {}
  for _, d in ipairs(vim.diagnostic.get(buf)) do
    lines[#lines + 1] = ("%s:%d:%d: %s: %s%s"):format(
      short(d.bufnr), d.lnum + 1, d.col + 1, vim.diagnostic.severity[d.severity]:lower(), d.message:gsub("\n", " "), d.source and (" [%s]"):format(d.source) or ""
    )
  end
  return listed(lines, "no diagnostics")
end

local function buffers()
  local lines, window = {}, where.window()
  local current = window and vim.api.nvim_win_get_buf(window)
  for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
    if info.name ~= "" and vim.bo[info.bufnr].buftype == "" then
      local marks = { info.bufnr == current and "current" or nil, info.changed == 1 and "unsaved changes" or nil, #info.windows > 0 and "visible" or nil }
      local words = {}
      for i = 1, 3 do
        words[#words + 1] = marks[i]
      end
      lines[#lines + 1] = short(info.bufnr) .. (#words > 0 and (" (%s)"):format(table.concat(words, ", ")) or "")
    end
  end
  return listed(lines, "no files are open")
end

local function selection()
  local window = where.window()
  if not window then
    return "no file is open"
  end
  return vim.api.nvim_win_call(window, function()
    local buf, row = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
    local first, last = vim.fn.getpos("'<"), vim.fn.getpos("'>")
    local head = ("%s, line %d of %d"):format(short(buf), row, vim.api.nvim_buf_line_count(buf))
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

-- Waits, in the request's coroutine, for the language servers.
local function symbols(arguments)
  local buf = buffer_of(arguments.path)
  if not buf then
    return nil, (arguments.path or "a file") .. " is not open in the editor"
  end
  local method = "textDocument/documentSymbol"
  if #vim.lsp.get_clients({ bufnr = buf, method = method }) == 0 then
    return nil, "no language server knows the symbols of " .. short(buf)
  end
  local here = coroutine.running()
  vim.lsp.buf_request_all(buf, method, { textDocument = { uri = vim.uri_from_bufnr(buf) } }, function(results)
    coroutine.resume(here, results)
  end)
  local lines = {}
  for _, answer in pairs(coroutine.yield()) do
    flatten(answer.result or {}, 0, lines)
  end
  return listed(lines, "no symbols")
end

local path = { path = { type = "string", description = "A file, absolute or relative to the working folder." } }

local tools = {
  {
    setting = "diagnostics", name = "editor_diagnostics", run = diagnostics, schema = object(path),
    description = "Errors and warnings that the user's editor shows at this moment, of one open file or of all.",
  },
  {
    setting = "buffers", name = "editor_buffers", run = buffers, schema = object({}),
    description = "The files that are open in the user's editor: which is current, which are visible, which have unsaved changes.",
  },
  {
    setting = "symbols", name = "editor_symbols", run = symbols, schema = object(path),
    description = "The symbols (functions, types, variables) of an open file, from the editor's language server. Without a path: the current file.",
  },
  {
    setting = "selection", name = "editor_selection", run = selection, schema = object({}),
    description = "What the user has selected in the editor, or the lines around the cursor.",
  },
}

-- What is offered, as dynamicTools of thread/start; nil for nothing.
function M.specs()
  local specs = {}
  for _, tool in ipairs(tools) do
    if config.current.tools[tool.setting] then
      specs[#specs + 1] = { type = "function", name = tool.name, description = tool.description, inputSchema = tool.schema }
    end
  end
  return #specs > 0 and specs or nil
end

-- Offers them to all threads of a bridge; done(err).
function M.register(connection, done)
  local specs = M.specs()
  if not specs or not connection:has("bridge/tool/register") then
    return done(nil)
  end
  connection:request("bridge/tool/register", { tools = specs }, function(err)
    done(err and err.message)
  end)
end

local function answer(text, success)
  return { contentItems = { { type = "inputText", text = text } }, success = success }
end

-- Answers item/tool/call.
function M.call(params)
  for _, tool in ipairs(tools) do
    if tool.name == params.tool and config.current.tools[tool.setting] then
      local arguments = type(params.arguments) == "table" and params.arguments or {}
      local ok, text, err = pcall(tool.run, arguments)
      if not ok then
        return answer(tostring(text), false)
      end
      return answer(text or err, text ~= nil)
    end
  end
  return answer("the editor has no tool " .. tostring(params.tool), false)
end

return M
