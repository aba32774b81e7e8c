-- The windows of the chat and, below it, the prompt.
local chat = require("codex-bridge.chat")
local config = require("codex-bridge.config")
local markdown = require("codex-bridge.markdown")
local prompt = require("codex-bridge.prompt")

local M = {}

local function window_of(buf)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(window) == buf then
      return window
    end
  end
end

-- Returns the window of the current chat in the current tab, or nil.
function M.chat_window()
  return window_of(chat.buffer())
end

local splits = {
  right = "botright vsplit",
  left = "topleft vsplit",
  top = "topleft split",
  bottom = "botright split",
  tab = "tab split",
}

-- Returns a size in cells; below 1 it is a share of the screen.
local function cells(wanted, whole)
  return math.max(1, math.floor(wanted < 1 and wanted * whole or wanted))
end

-- Sets the options of a window and returns them. winbar: the module with the winbar function.
local function set_options(window, winbar)
  local o = vim.wo[window][0]
  o.number, o.relativenumber, o.signcolumn, o.foldcolumn = false, false, "no", "0"
  o.wrap, o.linebreak, o.spell, o.list, o.cursorline, o.colorcolumn = true, true, false, false, false, ""
  o.winbar = ("%%{%%v:lua.require'codex-bridge.%s'.winbar()%%}"):format(winbar)
  return o
end

-- Prepares a window that starts to show the current chat.
local function prepare(window)
  local o = set_options(window, "status")
  o.foldmethod, o.foldenable, o.foldtext, o.fillchars = "manual", true, "v:lua.require'codex-bridge.chat'.foldtext()", "fold: "
  markdown.prepare_window(window)
  chat.create_folds(window)
  vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(chat.buffer()), 0 })
end

local function show_chat()
  local w, buf = config.current.window, chat.buffer()
  vim.cmd(splits[w.position])
  local window = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(window, buf)
  if w.position == "right" or w.position == "left" then
    vim.api.nvim_win_set_width(window, cells(w.width, vim.o.columns))
  elseif w.position ~= "tab" then
    vim.api.nvim_win_set_height(window, cells(w.height, vim.o.lines))
  end
  prepare(window)
  return window
end

-- Shows the current chat in windows that show another one.
function M.show_current(windows)
  for _, window in ipairs(windows) do
    vim.api.nvim_win_set_buf(window, chat.buffer())
    prepare(window)
  end
end

local function show_prompt(above)
  vim.api.nvim_set_current_win(above)
  vim.cmd("rightbelow split")
  local window = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(window, prompt.buffer())
  vim.api.nvim_win_set_height(window, config.current.window.prompt)
  set_options(window, "prompt").winfixheight = true
  vim.api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(above),
    once = true,
    callback = vim.schedule_wrap(function()
      if vim.api.nvim_win_is_valid(window) and #vim.api.nvim_list_wins() > 1 then
        vim.api.nvim_win_close(window, true)
      end
    end),
  })
  return window
end

-- Opens the chat and the prompt, and moves the cursor to the prompt.
function M.open()
  require("codex-bridge.file_window").remember()
  require("codex-bridge.changes").warm()
  local above = window_of(chat.buffer()) or show_chat()
  local below = window_of(prompt.buffer()) or show_prompt(above)
  vim.api.nvim_set_current_win(below)
end

-- Opens the chat and the prompt, and keeps the current window.
function M.show()
  local here = vim.api.nvim_get_current_win()
  M.open()
  vim.api.nvim_set_current_win(here)
end

-- Closes both windows if the cursor is in one of them, else opens them.
function M.toggle()
  local here = vim.api.nvim_get_current_buf()
  if here == prompt.buffer() or here == chat.buffer() then
    M.hide()
  else
    M.open()
  end
end

-- Closes both windows.
function M.hide()
  for _, buf in ipairs({ prompt.buffer(), chat.buffer() }) do
    local window = window_of(buf)
    if window and #vim.api.nvim_list_wins() > 1 then
      vim.api.nvim_win_close(window, true)
    end
  end
end

return M
