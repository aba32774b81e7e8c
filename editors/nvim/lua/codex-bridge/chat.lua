-- The chat buffer. It is a list of blocks, each with a head and a body that grows at its end. A timer writes the
-- collected deltas, so that a thousand deltas a second change the buffer only a few times.
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")
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
    for _, name in ipairs({ "open_policy", "explain" }) do
      if config.current.keys[name] then
        vim.keymap.set("n", config.current.keys[name], function()
          require("codex-bridge")[name]()
        end, { buffer = M.buf, nowait = true })
      end
    end
    reset_blocks()
  end
  return M.buf
end

local function modify(buf, change)
  vim.bo[buf].modifiable = true
  change()
  vim.bo[buf].modifiable = false
end

-- Moves the cursor to the end in all windows, so that they follow new text.
function M.follow()
  local buf = M.buffer()
  local last = vim.api.nvim_buf_line_count(buf)
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_set_cursor(window, { last, 0 })
  end
end

-- Scrolls a window that follows the end, so that its last line is above what covers its bottom lines.
function M.reveal_end(window, covered)
  local last = vim.api.nvim_buf_line_count(M.buffer())
  if vim.api.nvim_win_get_cursor(window)[1] ~= last then
    return -- the user reads something else
  end
  local room = math.max(vim.api.nvim_win_get_height(window) - 1 - covered, 3) -- without the winbar
  local top = last
  while top > 1 and vim.api.nvim_win_text_height(window, { start_row = top - 2 }).all <= room do
    top = top - 1
  end
  vim.api.nvim_win_call(window, function()
    vim.fn.winrestview({ topline = top })
  end)
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
  if not block or block.done or text == "" then
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
    text = #text > room and text:sub(1, room) .. "\n" .. S.output_truncated or text
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

-- Adds a card: a title in a colour, rows of { label, text }, and a line with the keys of its actions. data is what
-- card_under_cursor returns for it.
function M.card(title, highlight, rows, actions, data)
  M.flush()
  local width = 0
  for _, row in ipairs(rows) do
    width = math.max(width, vim.fn.strdisplaywidth(row[1]))
  end
  local lines = { "> " .. strip_control(title) }
  for _, row in ipairs(rows) do
    local label = row[1] .. (" "):rep(width - vim.fn.strdisplaywidth(row[1]))
    for i, line in ipairs(vim.split(strip_control(row[2]), "\n", { plain = true })) do
      lines[#lines + 1] = ("> %s  %s"):format(i == 1 and label or (" "):rep(width), line)
    end
  end
  if actions ~= "" then
    lines[#lines + 1] = "> " .. actions
  end
  lines[#lines + 1] = ""
  local block = add_block(lines)
  block.card = data
  local buf = M.buffer()
  local row = row_of(buf, block)
  vim.api.nvim_buf_set_extmark(buf, ns, row, 2, { end_col = #lines[1], hl_group = highlight, hl_mode = "combine", priority = 200 })
  if actions ~= "" then
    vim.api.nvim_buf_set_extmark(buf, ns, row + #lines - 2, 2, { end_col = #lines[#lines - 1], hl_group = "Comment", priority = 200 })
  end
end

-- Returns the data of the card under the cursor of the chat, else of the last card; nil if there is none.
function M.card_under_cursor()
  local buf = M.buffer()
  local cursor = vim.api.nvim_get_current_buf() == buf and vim.api.nvim_win_get_cursor(0)[1] - 1
  local last
  for _, block in ipairs(blocks) do
    if block.card then
      local row = row_of(buf, block)
      if cursor and cursor >= row and cursor < row + block.lines then
        return block.card
      end
      last = block.card
    end
  end
  return last
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

-- Returns a fence that no line of the output ends.
local function fence_for(lines)
  local fence = FENCE
  for _, line in ipairs(lines) do
    local ticks = line:match("^%s*(`+)")
    if ticks and #ticks >= #fence then
      fence = ("`"):rep(#ticks + 1)
    end
  end
  return fence
end

-- Completes the blocks that are not complete, such as those of a stopped turn.
function M.finish_all(state, highlight)
  for id, block in pairs(by_id) do
    if not block.done then
      if block.state then
        M.set_state(id, state, highlight)
      end
      M.finish(id)
    end
  end
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
    local row = row_of(buf, block)
    local body = vim.api.nvim_buf_get_lines(buf, row + 2, row + block.lines - 1, true)
    local fence = fence_for(body)
    modify_and_follow(buf, function()
      append_at_end(buf, block, body[#body] == "" and fence or "\n" .. fence)
      vim.api.nvim_buf_set_lines(buf, row + 1, row + 2, true, { fence })
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
  local ending = (" · %s · %s"):format(block.state or "", (count == 1 and S.one_line or S.lines):format(count))
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
