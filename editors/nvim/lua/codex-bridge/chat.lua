-- The chat buffer. It is a list of blocks, each with a head and a body that grows at its end. A timer writes the
-- collected deltas, so that a thousand deltas a second change the buffer only a few times.
local config = require("codex-bridge.config")
local ui = require("codex-bridge.ui")

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.chat")
local FENCE = "````"
local blocks, by_id, by_mark, dirty, timer = {}, {}, {}, {}, nil

local function reset_blocks()
  blocks, by_id, by_mark, dirty = {}, {}, {}, {}
end

-- Returns the buffer, and creates it if necessary.
function M.buffer()
  local is_new
  M.buf, is_new = ui.scratch_buffer(M.buf, "codex://chat")
  if is_new then
    vim.bo[M.buf].undolevels, vim.bo[M.buf].modifiable = -1, false
    reset_blocks()
  end
  return M.buf
end

local function modify(buf, change)
  vim.bo[buf].modifiable = true
  change()
  vim.bo[buf].modifiable = false
end

-- Changes the buffer. Windows with the cursor on the last line follow the end.
local function modify_and_follow(buf, change)
  local last = vim.api.nvim_buf_line_count(buf)
  local follow = vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] == last
  end, vim.fn.win_findbuf(buf))
  modify(buf, change)
  last = vim.api.nvim_buf_line_count(buf)
  for _, window in ipairs(follow) do
    vim.api.nvim_win_set_cursor(window, { last, 0 })
  end
end

local function row_of(buf, block)
  return vim.api.nvim_buf_get_extmark_by_id(buf, ns, block.mark, {})[1]
end

-- Removes escape sequences and other control characters.
local function strip_control(text)
  return (text:gsub("\27%[[%d;?]*%a", ""):gsub("\r\n", "\n"):gsub("[%z\1-\8\11-\31\127]", ""))
end

local function append_at_end(buf, block, text)
  local lines = vim.split(text, "\n", { plain = true })
  local at = row_of(buf, block) + block.lines - 2
  local column = #vim.api.nvim_buf_get_lines(buf, at, at + 1, true)[1]
  vim.api.nvim_buf_set_text(buf, at, column, at, column, lines)
  block.lines = block.lines + #lines - 1
end

-- Writes the collected deltas.
function M.flush()
  if #dirty == 0 then
    return
  end
  local buf = M.buffer()
  local all = dirty
  dirty = {}
  modify_and_follow(buf, function()
    for _, block in ipairs(all) do
      append_at_end(buf, block, table.concat(block.pending))
      block.pending = {}
    end
  end)
end

local function schedule_flush()
  timer = timer or vim.defer_fn(function()
    timer = nil
    M.flush()
  end, config.current.flush_ms)
end

local function add_block(lines)
  local buf = M.buffer()
  local block
  modify_and_follow(buf, function()
    local row = vim.api.nvim_buf_line_count(buf) - 1
    vim.api.nvim_buf_set_lines(buf, row, row, true, lines)
    local mark = vim.api.nvim_buf_set_extmark(buf, ns, row, 0, {})
    block = { mark = mark, lines = #lines, pending = {}, bytes = 0 }
  end)
  blocks[#blocks + 1], by_mark[block.mark] = block, block
  return block
end

-- Starts a block. options.output: the body is the output of a tool; it is fenced, and folded once it is complete.
function M.start_block(id, head, options)
  local block = add_block({ strip_control(head):gsub("\n", " "), options.output and FENCE or "", "", "" })
  block.output = options.output
  by_id[id] = block
end

-- Appends text to the body of a block.
function M.append(id, text)
  local block = by_id[id]
  if not block or text == "" then
    return
  end
  block.has_text = true
  text = strip_control(text)
  if block.output then
    local room = config.current.max_output - block.bytes
    block.bytes = block.bytes + #text
    if room <= 0 then
      return
    end
    -- The limit may split a character; Neovim then shows its bytes.
    text = #text > room and text:sub(1, room) .. "\n… output truncated (max_output)" or text
  end
  if #block.pending == 0 then
    dirty[#dirty + 1] = block
  end
  block.pending[#block.pending + 1] = text
  schedule_flush()
end

function M.has(id)
  return by_id[id] ~= nil
end

-- Reports whether a block has a body.
function M.has_body(id)
  return by_id[id] ~= nil and by_id[id].has_text == true
end

-- Adds a notice of the plugin, as a quote.
function M.notice(text)
  M.flush()
  local lines = vim.tbl_map(function(line)
    return "> " .. line
  end, vim.split(strip_control(text), "\n", { plain = true, trimempty = true }))
  lines[#lines + 1] = ""
  add_block(lines)
end

-- Shows the state of a block after its head.
function M.set_state(id, text, highlight)
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

-- Completes a block: writes its deltas, closes its fence and folds it.
function M.finish(id)
  local block, buf = by_id[id], M.buffer()
  if not block or block.done then
    return
  end
  block.done = true
  M.flush()
  if block.output then
    local last = vim.api.nvim_buf_get_lines(buf, row_of(buf, block) + block.lines - 2, row_of(buf, block) + block.lines - 1, true)[1]
    modify_and_follow(buf, function()
      append_at_end(buf, block, last == "" and FENCE or "\n" .. FENCE)
    end)
    for _, window in ipairs(vim.fn.win_findbuf(buf)) do
      fold(buf, block, window)
    end
  end
end

-- Creates the folds in a window that starts to show the chat.
function M.create_folds(window)
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

-- Returns the 'foldtext': the head, the state and the number of lines.
function M.foldtext()
  local row = vim.v.foldstart - 1
  local mark = vim.api.nvim_buf_get_extmarks(M.buffer(), ns, { row, 0 }, { row, 0 }, {})[1]
  local block = mark and by_mark[mark[1]]
  local text = "▸ " .. vim.fn.getline(vim.v.foldstart):gsub("^#+ ", "")
  if not block then
    return text
  end
  local count = block.has_text and block.lines - 4 or 0
  local ending = (" · %s · %d line%s"):format(block.state or "", count, count == 1 and "" or "s")
  return ui.truncate(text, vim.api.nvim_win_get_width(0) - vim.fn.strdisplaywidth(ending)) .. ending
end

-- Deletes all blocks.
function M.clear()
  local buf = M.buffer()
  reset_blocks()
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  modify(buf, function()
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, {})
  end)
end

return M
