-- The buffer of the conversation: blocks, one below the other, each with a head and a body
-- that grows at its end. What streams in is gathered and written by a timer, so that a
-- thousand deltas a second are a few changes of the buffer.
local config = require("codex-bridge.config")

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.chat")
local FENCE = "````"
local blocks, by_id, by_mark, dirty, timer = {}, {}, {}, {}, nil

local function forget()
  blocks, by_id, by_mark, dirty = {}, {}, {}, {}
end

function M.buffer()
  if M.buf and vim.api.nvim_buf_is_loaded(M.buf) then
    return M.buf
  end
  if M.buf and vim.api.nvim_buf_is_valid(M.buf) then
    vim.api.nvim_buf_delete(M.buf, { force = true }) -- :bdelete has emptied it
  end
  M.buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(M.buf, "codex://chat")
  local o = vim.bo[M.buf]
  o.bufhidden, o.undolevels, o.filetype, o.modifiable = "hide", -1, "markdown", false
  forget()
  return M.buf
end

local function write(buf, change)
  vim.bo[buf].modifiable = true
  change()
  vim.bo[buf].modifiable = false
end

-- Windows whose cursor is on the last line stay there.
local function following(buf, change)
  local last = vim.api.nvim_buf_line_count(buf)
  local follow = vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] == last
  end, vim.fn.win_findbuf(buf))
  write(buf, change)
  last = vim.api.nvim_buf_line_count(buf)
  for _, window in ipairs(follow) do
    vim.api.nvim_win_set_cursor(window, { last, 0 })
  end
end

local function row_of(buf, block)
  return vim.api.nvim_buf_get_extmark_by_id(buf, ns, block.mark, {})[1]
end

-- Escape sequences and other control characters are for terminals.
local function plain(text)
  return (text:gsub("\27%[[%d;?]*%a", ""):gsub("\r\n", "\n"):gsub("[%z\1-\8\11-\31\127]", ""))
end

local function grow(buf, block, text)
  local lines = vim.split(text, "\n", { plain = true })
  local at = row_of(buf, block) + block.lines - 2
  local column = #vim.api.nvim_buf_get_lines(buf, at, at + 1, true)[1]
  vim.api.nvim_buf_set_text(buf, at, column, at, column, lines)
  block.lines = block.lines + #lines - 1
end

-- Writes what is gathered.
function M.flush()
  if #dirty == 0 then
    return
  end
  local buf = M.buffer()
  local all = dirty
  dirty = {}
  following(buf, function()
    for _, block in ipairs(all) do
      grow(buf, block, table.concat(block.pending))
      block.pending = {}
    end
  end)
end

local function soon()
  timer = timer or vim.defer_fn(function()
    timer = nil
    M.flush()
  end, config.current.flush_ms)
end

local function add(lines)
  local buf = M.buffer()
  local block
  following(buf, function()
    local row = vim.api.nvim_buf_line_count(buf) - 1
    vim.api.nvim_buf_set_lines(buf, row, row, true, lines)
    local mark = vim.api.nvim_buf_set_extmark(buf, ns, row, 0, {})
    block = { mark = mark, lines = #lines, pending = {}, size = 0 }
  end)
  blocks[#blocks + 1], by_mark[block.mark] = block, block
  return block
end

-- Begins a block. o.output: its body is the output of a tool, which is fenced, and folded
-- when it is done.
function M.begin(id, head, o)
  o = o or {}
  local block = add({ plain(head):gsub("\n", " "), o.output and FENCE or "", "", "" })
  block.output = o.output
  by_id[id] = block
end

-- Adds to the body of a block.
function M.append(id, text)
  local block = by_id[id]
  if not block or text == "" then
    return
  end
  block.written = true
  text = plain(text)
  if block.output then
    local room = config.current.max_output - block.size
    block.size = block.size + #text
    if room <= 0 then
      return
    end
    -- (A character that is cut in two is shown as what it is.)
    text = #text > room and text:sub(1, room) .. "\n… more than is shown here" or text
  end
  if #block.pending == 0 then
    dirty[#dirty + 1] = block
  end
  block.pending[#block.pending + 1] = text
  soon()
end

function M.has(id)
  return by_id[id] ~= nil
end

-- Whether a block has a body.
function M.written(id)
  return by_id[id] ~= nil and by_id[id].written == true
end

-- Lines of our own, quoted.
function M.notice(text)
  M.flush()
  local lines = vim.tbl_map(function(line)
    return "> " .. line
  end, vim.split(plain(text), "\n", { plain = true, trimempty = true }))
  lines[#lines + 1] = ""
  add(lines)
end

-- A short word behind the head: how it stands with the block.
function M.state(id, text, highlight)
  local block, buf = by_id[id], M.buffer()
  if block then
    block.state = text
    vim.api.nvim_buf_set_extmark(buf, ns, row_of(buf, block), 0, {
      id = block.mark,
      virt_text = { { text, highlight or "Comment" } },
      virt_text_pos = "eol",
    })
  end
end

local function fold(buf, block, window)
  local row = row_of(buf, block)
  vim.api.nvim_win_call(window, function()
    vim.cmd(("silent %d,%dfold"):format(row + 1, row + block.lines - 1))
  end)
end

-- Nothing more comes for this block.
function M.finish(id)
  local block, buf = by_id[id], M.buffer()
  if not block or block.done then
    return
  end
  block.done = true
  M.flush()
  if block.output then
    local last = vim.api.nvim_buf_get_lines(buf, row_of(buf, block) + block.lines - 2, row_of(buf, block) + block.lines - 1, true)[1]
    following(buf, function()
      grow(buf, block, last == "" and FENCE or "\n" .. FENCE)
    end)
    for _, window in ipairs(vim.fn.win_findbuf(buf)) do
      fold(buf, block, window)
    end
  end
end

-- Makes the folds in a window that has just come to show the chat.
function M.folds(window)
  local buf = M.buffer()
  vim.api.nvim_win_call(window, function()
    vim.cmd("silent! normal! zE")
  end)
  for _, block in ipairs(blocks) do
    if block.output and block.done then
      fold(buf, block, window)
    end
  end
end

-- 'foldtext': the head, how it ended and how much is in it.
function M.foldtext()
  local row = vim.v.foldstart - 1
  local mark = vim.api.nvim_buf_get_extmarks(M.buffer(), ns, { row, 0 }, { row, 0 }, {})[1]
  local block = mark and by_mark[mark[1]]
  local text = "▸ " .. vim.fn.getline(vim.v.foldstart):gsub("^#+ ", "")
  if not block then
    return text
  end
  local count = block.written and block.lines - 4 or 0
  local ending = (" · %s · %d line%s"):format(block.state or "", count, count == 1 and "" or "s")
  local room = vim.api.nvim_win_get_width(0) - vim.fn.strdisplaywidth(ending)
  if vim.fn.strdisplaywidth(text) > room then
    text = vim.fn.strcharpart(text, 0, math.max(room - 1, 0)) .. "…"
  end
  return text .. ending
end

function M.clear()
  local buf = M.buffer()
  forget()
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  write(buf, function()
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, {})
  end)
end

return M
