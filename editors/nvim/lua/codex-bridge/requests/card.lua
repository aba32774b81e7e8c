-- The floating card of an approval. It never takes the cursor, so the user can read code and scroll the chat while it
-- is open. Its keys work in the card, in the chat and in the prompt, in normal mode.
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.card")
local Card = {}
Card.__index = Card

-- The commands of the choices, for users without a key.
local commands = { accept = ":CodexAccept", decline = ":CodexDecline" }

-- Calls tick() each second until the returned function is called.
function M.every_second(tick)
  local timer = assert(vim.uv.new_timer())
  timer:start(1000, 1000, vim.schedule_wrap(function()
    if not timer:is_closing() then
      tick()
    end
  end))
  return function()
    if not timer:is_closing() then
      timer:close()
    end
  end
end

-- Returns the time that is left, as text; nil without a limit.
function M.countdown(expires_at)
  return expires_at and S.declined_in:format(S.countdown(expires_at - vim.uv.now()))
end

-- Returns the lines of a label and its text.
local function row_lines(label, text, width)
  local lines = {}
  for i, line in ipairs(vim.split(text, "\n", { plain = true })) do
    local head = i == 1 and label or ""
    lines[i] = head .. (" "):rep(width - vim.fn.strdisplaywidth(head)) .. "  " .. line
  end
  return lines
end

local function key_of(choice)
  return config.current.keys[choice.name] or commands[choice.name]
end

-- Fills the buffer. The choices come last; if the card is higher than the screen has room for, they come first.
function Card:render(choices_first)
  local width = 0
  for _, row in ipairs(self.rows) do
    width = math.max(width, vim.fn.strdisplaywidth(row[1]))
  end
  self.indent = width + 2
  local about, labels, keys, texts = {}, {}, {}, {}
  for _, row in ipairs(self.rows) do
    labels[#about] = #row[1]
    local lines = row_lines(row[1], row[2], width)
    for i = 1, row[3] and #lines or 0 do
      texts[#about + i - 1] = row[3]
    end
    vim.list_extend(about, lines)
  end
  for _, choice in ipairs(self.choices) do
    local key = key_of(choice)
    if key then
      keys[#keys + 1] = S.key_line:format(key, choice.label)
    end
  end
  keys[#keys + 1] = S.key_line:format("<CR>", S.more_choices)
  keys[#keys + 1] = S.key_places
  local lines = choices_first and keys or about
  local offset = choices_first and #keys + 1 or 0
  lines = vim.list_extend(vim.list_extend(vim.deepcopy(lines), { "" }), choices_first and about or keys)
  vim.bo[self.buf].modifiable = true
  vim.api.nvim_buf_set_lines(self.buf, 0, -1, false, lines)
  vim.bo[self.buf].modifiable = false
  vim.api.nvim_buf_clear_namespace(self.buf, ns, 0, -1)
  for row, length in pairs(labels) do
    vim.api.nvim_buf_set_extmark(self.buf, ns, row + offset, 0, { end_col = length, hl_group = "Comment" })
  end
  for row, highlight in pairs(texts) do
    vim.api.nvim_buf_set_extmark(self.buf, ns, row + offset, self.indent, { end_row = row + offset + 1, hl_group = highlight })
  end
end

-- Returns the position: at the bottom of the chat, else at the bottom right of the screen.
function Card:layout()
  local chat = require("codex-bridge.view").chat_window()
  local bottom, right = vim.o.lines - vim.o.cmdheight - 1, vim.o.columns
  local width = math.min(72, vim.o.columns - 2)
  if chat then
    local at = vim.api.nvim_win_get_position(chat)
    bottom, right = at[1] + vim.api.nvim_win_get_height(chat), at[2] + vim.api.nvim_win_get_width(chat)
    width = math.min(math.max(vim.api.nvim_win_get_width(chat) - 2, 50), vim.o.columns - 2)
  end
  local title = { { " " .. self.title .. " ", self.highlight } }
  local left = M.countdown(self.expires_at)
  if left then
    title[2] = { "· " .. left .. " ", "DiagnosticInfo" }
  end
  return {
    relative = "editor", anchor = "SE", row = bottom, col = math.max(right, width + 2), width = width, height = self.height or 1, border = "rounded",
    style = "minimal", title = title, zindex = 60, focusable = true,
  }
end

-- Opens the window, moves it to the current tab, or updates its place and countdown.
function Card:place()
  if self.finished or self.is_closed or vim.fn.getcmdwintype() ~= "" then
    return -- the next tick places the card after the command-line window
  end
  local open = self.window and vim.api.nvim_win_is_valid(self.window)
  if open and vim.api.nvim_win_get_tabpage(self.window) ~= vim.api.nvim_get_current_tabpage() then
    self:close_window()
    open = false
  end
  if not open then
    self.window = vim.api.nvim_open_win(self.buf, false, vim.tbl_extend("force", self:layout(), { noautocmd = true }))
    local o = vim.wo[self.window][0]
    o.wrap, o.linebreak, o.breakindent, o.breakindentopt = true, true, true, ("shift:%d"):format(self.indent + 2) -- the lines of a command begin at indent
    o.winhighlight = ("FloatBorder:%s"):format(self.highlight)
  else
    vim.api.nvim_win_set_config(self.window, self:layout())
  end
  local room = math.max(vim.o.lines - vim.o.cmdheight - 5, 3)
  local all = vim.api.nvim_win_text_height(self.window, {}).all
  if all > room and not self.choices_first then
    self.choices_first = true
    self:render(true)
  end
  if self.height ~= math.min(all, room) then
    self.height = math.min(all, room)
    vim.api.nvim_win_set_config(self.window, self:layout())
    self:reveal_chat(self.height + 2)
  end
  if not open and vim.api.nvim_get_mode().mode:sub(1, 1) == "c" then
    vim.cmd.redraw() -- Neovim draws no new window while the user types a command
  end
end

-- Scrolls the end of the chat above the card, which covers lines of it.
function Card:reveal_chat(covered)
  local chat = require("codex-bridge.view").chat_window()
  if chat then
    require("codex-bridge.chat").reveal_end(chat, covered)
  end
end

function Card:close_window()
  local window = self.window
  self.window = nil
  if window and vim.api.nvim_win_is_valid(window) then
    vim.api.nvim_win_close(window, true)
  end
end

-- Reports whether the card is on the screen.
function Card:is_visible()
  return self.window ~= nil and vim.api.nvim_win_is_valid(self.window)
    and vim.api.nvim_win_get_tabpage(self.window) == vim.api.nvim_get_current_tabpage()
end

-- Moves the cursor to the card.
function Card:focus()
  self.is_closed = false -- the user may ask for a card that they have just closed
  self:place()
  if self.window then
    vim.api.nvim_set_current_win(self.window)
  end
end

-- Answers with the choice of this name; returns false if there is none.
function Card:choose(name)
  for _, choice in ipairs(self.choices) do
    if choice.name == name then
      self:finish(choice.value)
      return true
    end
  end
  return false
end

-- Shows all choices by vim.ui.select.
function Card:select()
  vim.ui.select(self.choices, {
    prompt = self.title .. ": " .. self.rows[1][2],
    kind = "codex-approval",
    format_item = function(choice)
      return choice.label
    end,
  }, function(choice)
    if choice and not self.finished then
      self:finish(choice.value)
    end
  end)
end

-- Calls f(buffer, key, choice) for each key in each buffer where the keys work.
function Card:each_key(f)
  local buffers = { self.buf, require("codex-bridge.prompt").buffer() }
  for _, buf in ipairs(vim.list_extend(buffers, require("codex-bridge.chat").buffers())) do
    for _, choice in ipairs(self.choices) do
      local key = config.current.keys[choice.name]
      if key then
        f(buf, key, choice)
      end
    end
  end
end

function Card:map_keys()
  self:each_key(function(buf, key, choice)
    vim.keymap.set("n", key, function()
      if not require("codex-bridge.changes.block").act(choice.name) and self:is_visible() then
        self:finish(choice.value)
      end
    end, { buffer = buf, nowait = true, desc = S.state:format(choice.label) })
  end)
end

-- Closes the card without an answer.
function Card:dismiss()
  if self.finished then
    return
  end
  self.finished = true
  self.stop_ticks()
  vim.api.nvim_del_augroup_by_id(self.group)
  self:each_key(function(buf, key)
    pcall(vim.keymap.del, "n", key, { buffer = buf })
  end)
  vim.tbl_map(require("codex-bridge.changes.block").map, require("codex-bridge.chat").buffers())
  self:close_window()
  self:reveal_chat(0)
  if vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_delete(self.buf, { force = true })
  end
end

function Card:finish(value)
  if not self.finished then
    self:dismiss()
    self.done(value)
  end
end

-- Shows a card. options: title, highlight, rows (a list of { label, text, highlight }, where the highlight of the text may be
-- nil), choices (a list of { name, label, value }; name is that of the key), expires_at (in the time of vim.uv.now).
-- done(value) is called once; nil if the user closes the card.
function M.show(options, done)
  local self = setmetatable(vim.tbl_extend("force", { done = done, highlight = "FloatTitle" }, options), Card)
  self.buf = vim.api.nvim_create_buf(false, true)
  vim.bo[self.buf].bufhidden, vim.bo[self.buf].filetype = "hide", "codex-card"
  self:render(false)
  self:map_keys()
  vim.keymap.set("n", "<CR>", function() self:select() end, { buffer = self.buf, nowait = true })
  self.group = vim.api.nvim_create_augroup("codex-bridge.card", { clear = true })
  local place = vim.schedule_wrap(function()
    self:place()
  end)
  vim.api.nvim_create_autocmd({ "TabEnter", "VimResized", "WinResized", "WinNew" }, { group = self.group, callback = place })
  vim.api.nvim_create_autocmd("User", { -- another chat, perhaps a new one
    group = self.group,
    pattern = "CodexChat",
    callback = function()
      self:map_keys()
    end,
  })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = self.group,
    callback = function(event)
      if tonumber(event.match) == self.window then
        self.window, self.is_closed = nil, true
        vim.schedule(function()
          if self.is_closed then
            self:finish(nil)
          end
        end)
      else
        place()
      end
    end,
  })
  self.stop_ticks = M.every_second(function()
    self:place()
  end)
  self:place()
  return self
end

return M
