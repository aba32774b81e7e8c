-- Renders prose in the chat: highlights by treesitter, hidden marks, and highlighted code. Only prose is rendered; the
-- text of cards, heads and outputs is shown as it is. Without the parser of markdown, the regex syntax highlights the chat.

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.markdown")
local MAX_CODE, MAX_CODE_BYTES = 400, 20000 -- lines and bytes of code that the regex syntax highlights

-- The parser of markdown takes the square of a paragraph's length, and ends Neovim at more than 250 blocks in one another
-- (measured with Neovim 0.10.4). Beyond these limits prose is shown as it is.
local MAX_TEXT, MAX_PARAGRAPH, MAX_BLOCKS = 131072, 8192, 200

-- The marks that are hidden. The target of a link stays visible.
local hidden = { emphasis_delimiter = true, code_span_delimiter = true, fenced_code_block_delimiter = true }

local has_parser

-- Reports whether treesitter can render markdown.
function M.has_parser()
  if has_parser == nil then
    has_parser = pcall(vim.treesitter.language.add, "markdown") and pcall(vim.treesitter.get_string_parser, "", "markdown")
      and pcall(vim.treesitter.get_string_parser, "", "markdown_inline") or false
  end
  return has_parser
end

-- Prepares a buffer of the chat.
function M.attach(buf)
  pcall(vim.treesitter.stop, buf) -- a FileType autocommand may have started it for the whole buffer
  if M.has_parser() then
    vim.bo[buf].syntax = "OFF"
  end
end

-- Sets the options of a window that shows the chat.
function M.prepare_window(window)
  local o = vim.wo[window][0]
  o.conceallevel, o.concealcursor = M.has_parser() and 2 or 0, ""
end

-- Highlights the head of a block.
function M.head(buf, row)
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
  vim.api.nvim_buf_set_extmark(buf, ns, row, 0, { end_col = #line, hl_group = "Title", priority = 90 })
end

function M.clear(buf)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
end

-- Sets an extmark; text that changes meanwhile has none.
local function mark(buf, row, column, options)
  pcall(vim.api.nvim_buf_set_extmark, buf, ns, row, column, options)
end

local function render_tree(buf, first, text, tree, language, priority, keep_marks)
  local query = vim.treesitter.query.get(language, "highlights")
  if not query then
    return
  end
  for id, node, metadata in query:iter_captures(tree:root(), text, 0, -1) do
    local name = query.captures[id]
    if not vim.startswith(name, "_") and not name:find("spell$") then
      local row, column, end_row, end_column = node:range()
      mark(buf, first + row, column, {
        end_row = first + end_row, end_col = end_column, priority = tonumber(metadata.priority) or priority,
        hl_group = name ~= "conceal" and "@" .. name .. "." .. language or nil,
        conceal = hidden[node:type()] and not keep_marks and "" or nil,
      })
    end
  end
end

-- Highlights code by the regex syntax of its language: in a scratch buffer, from which the groups are copied.
local function regex_code(buf, row, lines, language)
  local scratch = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(scratch, 0, -1, false, lines)
  vim.api.nvim_buf_call(scratch, function()
    vim.bo.syntax = language
    for i, line in ipairs(lines) do
      local from, last = 1, 0
      for column = 1, #line + 1 do
        local id = column <= #line and vim.fn.synIDtrans(vim.fn.synID(i, column, 1)) or -1
        if id ~= last then
          if last > 0 then
            mark(buf, row + i - 1, from - 1, { end_col = column - 1, hl_group = vim.fn.synIDattr(last, "name"), priority = 110 })
          end
          from, last = column, id
        end
      end
    end
  end)
  vim.api.nvim_buf_delete(scratch, { force = true })
end

-- Returns the language of a fence's info string as a filetype, or nil.
local function filetype_of(info)
  local name = info:lower():match("^%s*([%w_+-]+)")
  return name and (vim.filetype.match({ filename = "x." .. name }) or name)
end

-- Highlights lines of code from a row on.
function M.code(buf, row, lines, language)
  if #lines <= MAX_CODE and #table.concat(lines) <= MAX_CODE_BYTES and #vim.api.nvim_get_runtime_file(("syntax/%s.*"):format(language), false) > 0 then
    regex_code(buf, row, lines, language)
  end
end

-- Highlights the code of languages that have no parser.
local function render_code(buf, first, lines)
  local i = 1
  while i <= #lines do
    local fence, info = lines[i]:match("^%s*(```+)(.*)$")
    local last = i
    if fence and not info:find("`", 1, true) then
      last = i + 1
      while last <= #lines and not (lines[last]:match("^%s*(`+)%s*$") or ""):find(fence, 1, true) do
        last = last + 1
      end
      local filetype = filetype_of(info)
      local parser = filetype and vim.treesitter.language.get_lang(filetype) or filetype
      if filetype and not (pcall(vim.treesitter.get_string_parser, "", parser)) then
        M.code(buf, first + i, vim.list_slice(lines, i + 1, last - 1), filetype)
      end
    end
    i = last + 1
  end
end

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

-- Returns how many blocks in one another a line can open or continue: by marks of quotes and lists, and by the columns of
-- its indentation.
local function blocks_of(line)
  local prefix = line:match("^[%s>%-+*%d.)]*")
  return count(prefix, ">") + count(prefix, "[-+*.)]%s") + count(prefix, " ") / 2 + 2 * count(prefix, "\t")
end

-- Reports whether the parser of markdown takes the lines, and soon.
local function is_parsable(lines)
  local text, paragraph = 0, 0
  for _, line in ipairs(lines) do
    text = text + #line + 1
    paragraph = line:find("%S") and paragraph + #line + 1 or 0
    if text > MAX_TEXT or paragraph > MAX_PARAGRAPH or blocks_of(line) > MAX_BLOCKS then
      return false
    end
  end
  return true
end

-- Renders the prose of the rows from first to before last. keep_marks: no marks are hidden.
function M.render(buf, first, last, keep_marks)
  if not M.has_parser() then
    return
  end
  local lines = vim.api.nvim_buf_get_lines(buf, first, last, false)
  vim.api.nvim_buf_clear_namespace(buf, ns, first, last)
  if not is_parsable(lines) then
    return
  end
  local text = table.concat(lines, "\n") .. "\n"
  local parser = vim.treesitter.get_string_parser(text, "markdown")
  parser:parse(true)
  local function render(of, priority)
    for _, tree in pairs(of:trees()) do
      render_tree(buf, first, text, tree, of:lang(), priority, keep_marks)
    end
    for _, child in pairs(of:children()) do
      render(child, priority + 1)
    end
  end
  render(parser, 100)
  render_code(buf, first, lines)
end

return M
