-- A chat: a buffer with a list of blocks, each with a head and a body that grows at its end. A timer writes the collected
-- deltas, so that a thousand deltas a second change the buffer only a few times. The functions of the module are the
-- methods of the current chat.
local config = require("codex-bridge.config")
local folds = require("codex-bridge.folds")
local markdown = require("codex-bridge.markdown")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.chat")
local list_ns = vim.api.nvim_create_namespace("codex-bridge.chat.list")
local FENCE = "````"
local Chat = {}
Chat.__index = Chat

local all, last_number = {}, 0
local current

local function reset_blocks(self)
  self.blocks, self.by_id, self.by_mark, self.dirty = {}, {}, {}, {}
end

-- Returns a new chat.
function M.new()
  last_number = last_number + 1
  local self = setmetatable({ number = last_number }, Chat)
  reset_blocks(self)
  all[#all + 1] = self
  return self
end

-- Makes a chat the current one.
function M.use(chat)
  current = chat
end

-- Returns the current chat.
function M.current()
  if not current then
    require("codex-bridge.session") -- it creates the first one
  end
  return current
end

-- Returns the buffers of all chats.
function M.buffers()
  return vim.tbl_map(function(chat)
    return chat:buffer()
  end, all)
end

-- Returns the chat of a buffer, or nil.
function M.of_buffer(buf)
  for _, chat in ipairs(all) do
    if chat.buf == buf then
      return chat
    end
  end
end

-- Returns the buffer, and creates it if necessary.
function Chat:buffer()
  local is_new
  self.buf, is_new = ui.scratch_buffer(self.buf, "codex://chat" .. (self.number == 1 and "" or "/" .. self.number))
  if is_new then
    vim.bo[self.buf].undolevels, vim.bo[self.buf].modifiable = -1, false
    markdown.attach(self.buf)
    require("codex-bridge.links").map(self.buf)
    require("codex-bridge.changes.block").map(self.buf)
    for _, name in ipairs({ "open_policy", "explain" }) do
      if config.current.keys[name] then
        vim.keymap.set("n", config.current.keys[name], function()
          require("codex-bridge")[name]()
        end, { buffer = self.buf, nowait = true })
      end
    end
    reset_blocks(self)
  end
  return self.buf
end

-- Deletes the chat with its buffer.
function Chat:delete()
  all = vim.tbl_filter(function(chat)
    return chat ~= self
  end, all)
  if self.buf and vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_delete(self.buf, { force = true })
  end
end

-- Reports whether a window of the current tab shows the chat.
function Chat:is_visible()
  return #vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_tabpage(window) == vim.api.nvim_get_current_tabpage()
  end, vim.fn.win_findbuf(self:buffer())) > 0
end

local function modify(buf, change)
  vim.bo[buf].modifiable = true
  change()
  vim.bo[buf].modifiable = false
end

-- Moves the cursor to the end in all windows, so that they follow new text.
function Chat:follow()
  local buf = self:buffer()
  local last = vim.api.nvim_buf_line_count(buf)
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_set_cursor(window, { last, 0 })
  end
end

-- Scrolls a window that follows the end, so that its last line is above what covers its bottom lines.
function Chat:reveal_end(window, covered)
  local last = vim.api.nvim_buf_line_count(self:buffer())
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

local function append_at_end(buf, block, text)
  local lines = vim.split(text, "\n", { plain = true })
  local at = row_of(buf, block) + block.lines - 2
  local column = #vim.api.nvim_buf_get_lines(buf, at, at + 1, true)[1]
  vim.api.nvim_buf_set_text(buf, at, column, at, column, lines)
  block.lines = block.lines + #lines - 1
end

-- Renders the body of a block of prose. While it grows, this takes at most a tenth of the time.
local function render(buf, block)
  local started = vim.uv.hrtime()
  if block.prose and (block.done or started >= (block.render_after or 0)) then
    local row = row_of(buf, block)
    markdown.render(buf, row + 1, row + block.lines - 1, block.keep_marks)
    block.render_after = started + 10 * (vim.uv.hrtime() - started)
  end
end

-- Writes the collected deltas.
function Chat:flush()
  if #self.dirty == 0 then
    return
  end
  local buf = self:buffer()
  local dirty = self.dirty
  self.dirty = {}
  modify_and_follow(buf, function()
    for _, block in ipairs(dirty) do
      append_at_end(buf, block, table.concat(block.pending))
      block.pending = {}
    end
  end)
  vim.tbl_map(function(block)
    render(buf, block)
  end, dirty)
end

local function schedule_flush(self)
  self.timer = self.timer or vim.defer_fn(function()
    self.timer = nil
    self:flush()
  end, config.current.flush_ms)
end

local function add_block(self, lines)
  local buf = self:buffer()
  local block
  modify_and_follow(buf, function()
    local row = vim.api.nvim_buf_line_count(buf) - 1
    vim.api.nvim_buf_set_lines(buf, row, row, true, lines)
    local mark = vim.api.nvim_buf_set_extmark(buf, ns, row, 0, {})
    block = { mark = mark, lines = #lines, pending = {}, deltas = {}, bytes = 0 }
  end)
  self.blocks[#self.blocks + 1], self.by_mark[block.mark] = block, block
  return block
end

-- Starts a block. options.output: the body is the output of a tool; it is fenced, and folded once it is complete.
-- options.prose: the body is markdown; options.keep_marks: its marks are visible. options.language: that of the output.
function Chat:start_block(id, head, options)
  local block = add_block(self, { ui.strip_control(head):gsub("\n", " "), options.output and FENCE or "", "", "" })
  for _, name in ipairs({ "output", "prose", "keep_marks", "language" }) do
    block[name] = options[name]
  end
  self.by_id[id] = block
  markdown.head(self:buffer(), row_of(self:buffer(), block))
end

-- Appends text to the body of a block.
function Chat:append(id, text)
  local block = self.by_id[id]
  if not block or block.done or text == "" then
    return
  end
  block.has_text = true
  text = ui.strip_control(text)
  if block.output then
    local room = config.current.max_output - block.bytes
    block.bytes = block.bytes + #text
    if room <= 0 then
      return
    end
    -- The limit may split a character; Neovim then shows its bytes.
    text = #text > room and text:sub(1, room) .. "\n" .. S.output_truncated or text
  end
  if block.prose then
    block.deltas[#block.deltas + 1] = text
  end
  if #block.pending == 0 then
    self.dirty[#self.dirty + 1] = block
  end
  block.pending[#block.pending + 1] = text
  schedule_flush(self)
end

-- Replaces the body of a block that gets no deltas.
function Chat:set_body(id, lines)
  local block, buf = self.by_id[id], self:buffer()
  local row = row_of(buf, block)
  lines = vim.tbl_map(function(line)
    return (ui.strip_control(line):gsub("\n", " "))
  end, lines)
  modify_and_follow(buf, function()
    vim.api.nvim_buf_set_lines(buf, row + 2, row + block.lines - 1, true, lines)
  end)
  block.lines = #lines + 3
end

-- Completes the body of a block of prose: the text of a completed item counts, not its deltas.
function Chat:complete_prose(id, text)
  local block = self.by_id[id]
  text = ui.strip_control(text)
  if block.done or text == table.concat(block.deltas) then
    return
  end
  self:flush()
  self:set_body(id, vim.split(text, "\n", { plain = true }))
  block.deltas = { text }
  block.render_after = 0
  render(self:buffer(), block)
end

function Chat:has(id)
  return self.by_id[id] ~= nil
end

-- Reports whether a block has a body.
function Chat:has_body(id)
  return self.by_id[id] ~= nil and self.by_id[id].has_text == true
end

-- Adds a notice of the plugin, as a quote.
function Chat:notice(text)
  self:flush()
  local lines = vim.tbl_map(function(line)
    return "> " .. line
  end, vim.split(ui.strip_control(text), "\n", { plain = true, trimempty = true }))
  lines[#lines + 1] = ""
  add_block(self, lines)
end

-- Adds a card: a title in a colour, rows of { label, text }, and a line with the keys of its actions. data is what
-- card_under_cursor returns for it.
function Chat:card(title, highlight, rows, actions, data)
  self:flush()
  local lines = ui.card_lines(title, rows, actions)
  local block = add_block(self, lines)
  block.card = data
  local buf = self:buffer()
  local row = row_of(buf, block)
  vim.api.nvim_buf_set_extmark(buf, ns, row, 2, { end_col = #lines[1], hl_group = highlight, hl_mode = "combine", priority = 200 })
  if actions ~= "" then
    vim.api.nvim_buf_set_extmark(buf, ns, row + #lines - 2, 2, { end_col = #lines[#lines - 1], hl_group = "Comment", priority = 200 })
  end
end

-- Returns the data of the card under the cursor of the chat, else of the last card; nil if there is none.
function Chat:card_under_cursor()
  local buf = self:buffer()
  local cursor = vim.api.nvim_get_current_buf() == buf and vim.api.nvim_win_get_cursor(0)[1] - 1
  local last
  for _, block in ipairs(self.blocks) do
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
function Chat:set_state(id, text, highlight)
  local block, buf = self.by_id[id], self:buffer()
  if block then
    block.state = text
    vim.api.nvim_buf_set_extmark(buf, ns, row_of(buf, block), 0, {
      id = block.mark,
      virt_text = { { text, highlight or "Comment" } },
      virt_text_pos = "eol",
    })
  end
end

-- Replaces the body of a block by a list of the form of changes/lines.lua, with a fold for each item. The places of an
-- older list are forgotten.
function Chat:set_list(id, list)
  local buf, is_open = self:buffer(), {}
  local block = self.by_id[id]
  if not block then
    return -- the user has deleted the buffer
  end
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    is_open[window] = folds.delete(block, row_of(buf, block), window)
  end
  self:set_body(id, list.lines)
  for other_id, other in pairs(self.by_id) do
    if other.list and other ~= block then
      other.list = nil
      self:set_state(other_id, "")
    end
  end
  block.list, block.folds = list, list.folds
  local row = row_of(buf, block)
  vim.api.nvim_buf_clear_namespace(buf, list_ns, row, row + block.lines)
  for _, mark in ipairs(list.marks) do
    local at = row + 1 + mark[1]
    local line = vim.api.nvim_buf_get_lines(buf, at, at + 1, true)[1]
    vim.api.nvim_buf_set_extmark(buf, list_ns, at, 0, { end_col = #line, hl_group = mark[2] })
  end
  for window, keys in pairs(is_open) do
    folds.create(block, row, window, keys)
  end
end

-- Returns the place of a list under the cursor of the current window, and the list; nil if there is none.
function Chat:place_under_cursor()
  local closed = vim.fn.foldclosed(".")
  local line = closed > 0 and closed or vim.api.nvim_win_get_cursor(0)[1]
  for _, block in ipairs(self.blocks) do
    if block.list then
      return block.list.places[line - row_of(self:buffer(), block) - 2], block.list
    end
  end
end

-- Removes a block, if it is there.
function Chat:remove(id)
  local buf = self:buffer()
  local block = self.by_id[id]
  if not block then
    return
  end
  self:flush()
  local row = row_of(buf, block)
  modify_and_follow(buf, function()
    vim.api.nvim_buf_del_extmark(buf, ns, block.mark)
    vim.api.nvim_buf_set_lines(buf, row, row + block.lines, true, {})
  end)
  self.by_id[id], self.by_mark[block.mark] = nil, nil
  self.blocks = vim.tbl_filter(function(other)
    return other ~= block
  end, self.blocks)
end

-- Completes the blocks that are not complete, such as those of a stopped turn.
function Chat:finish_all(state, highlight)
  for id, block in pairs(self.by_id) do
    if not block.done then
      if block.state then
        self:set_state(id, state, highlight)
      end
      self:finish(id)
    end
  end
end

-- Completes a block: writes its deltas, closes its fence and folds it.
function Chat:finish(id)
  local block, buf = self.by_id[id], self:buffer()
  if not block or block.done then
    return
  end
  block.done = true
  self:flush()
  render(buf, block)
  if block.output then
    local row = row_of(buf, block)
    local body = vim.api.nvim_buf_get_lines(buf, row + 2, row + block.lines - 1, true)
    local fence = ui.fence(body, FENCE)
    modify_and_follow(buf, function()
      append_at_end(buf, block, body[#body] == "" and fence or "\n" .. fence)
      vim.api.nvim_buf_set_lines(buf, row + 1, row + 2, true, { fence })
    end)
    if block.language then
      markdown.code(buf, row + 2, body, block.language)
    end
    for _, window in ipairs(vim.fn.win_findbuf(buf)) do
      folds.create(block, row_of(buf, block), window)
    end
  end
end

-- Creates the folds in a window that starts to show the chat.
function Chat:create_folds(window)
  local buf = self:buffer()
  vim.api.nvim_win_call(window, function()
    vim.cmd("silent! normal! zE")
  end)
  for _, block in ipairs(self.blocks) do
    if not block.output or block.done then
      folds.create(block, row_of(buf, block), window)
    end
  end
end

-- Returns the 'foldtext' of the current buffer: the head, the state and the number of lines.
function M.foldtext()
  local buf, row = vim.api.nvim_get_current_buf(), vim.v.foldstart - 1
  local mark = vim.api.nvim_buf_get_extmarks(buf, ns, { row, 0 }, { row, 0 }, {})[1]
  local block
  for _, chat in ipairs(all) do
    block = block or mark and chat.buf == buf and chat.by_mark[mark[1]]
  end
  return folds.text(block)
end

-- Deletes all blocks.
function Chat:clear()
  local buf = self:buffer()
  reset_blocks(self)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  vim.api.nvim_buf_clear_namespace(buf, list_ns, 0, -1)
  markdown.clear(buf)
  modify(buf, function()
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, {})
  end)
end

for _, name in ipairs({ "buffer", "follow", "reveal_end", "flush", "notice", "card", "card_under_cursor", "create_folds", "clear" }) do
  M[name] = function(...)
    return Chat[name](M.current(), ...)
  end
end

return M
