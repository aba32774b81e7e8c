-- The list of a turn's changes: files and hunks, with keys to keep, undo and compare them.
local changes = require("codex-bridge.changes")
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.changes")
local buf, turn, places -- places: by line, { file, hunk }
local thread

local function notify(text, level)
  vim.notify(text, level or vim.log.levels.INFO)
end

local function live_list(running)
  local list = { lines = { S.turn_runs }, places = {}, marks = { { 1, "Comment" } } }
  for _, line in ipairs(vim.split(running.diff or "", "\n", { plain = true, trimempty = true })) do
    list.lines[#list.lines + 1] = require("codex-bridge.display").document(line)
  end
  return list
end

local function render()
  local running = changes.running(thread.id)
  local list = running and live_list(running) or require("codex-bridge.changes.lines").of_turn(turn or { files = {} })
  places = list.places
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, list.lines)
  vim.bo[buf].modifiable = false
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  for _, mark in ipairs(list.marks) do
    vim.api.nvim_buf_set_extmark(buf, ns, mark[1] - 1, 0, { end_row = mark[1] - 1, end_col = #list.lines[mark[1]], hl_group = mark[2] })
  end
end

-- Shows the list again, if it is that of this thread, or without one: of any.
function M.refresh(id)
  if not (thread and buf and vim.api.nvim_buf_is_valid(buf)) or id and id ~= thread.id then
    return
  end
  changes.latest(thread, function(_, found)
    turn = found
    if vim.api.nvim_buf_is_valid(buf) then
      render()
    end
  end)
end

local function current_place()
  local place = places[vim.api.nvim_win_get_cursor(0)[1]]
  if not place then
    notify(S.no_change_here)
  end
  return place
end

local function move(by)
  return function()
    local line = vim.api.nvim_win_get_cursor(0)[1] + by
    while places[line] and places[line].hunk do
      line = line + by
    end
    if places[line] then
      vim.api.nvim_win_set_cursor(0, { line, 0 })
    end
  end
end

local function at_place(name)
  return function()
    local place = current_place()
    if place then
      require("codex-bridge.changes.actions")[name](turn, place)
    end
  end
end

local function create_buffer()
  buf = ui.scratch_buffer(buf, "codex://changes")
  vim.bo[buf].filetype, vim.bo[buf].undolevels = "codex-changes", -1
  local keys = config.current.keys
  local actions = {
    [keys.accept or ""] = at_place("accept"),
    [keys.decline or ""] = at_place("decline"),
    [keys.diff or ""] = at_place("diff"),
    ["<CR>"] = at_place("diff"),
    [keys.next_file or ""] = move(1),
    [keys.previous_file or ""] = move(-1),
    q = function() vim.api.nvim_win_close(0, true) end,
  }
  for key, action in pairs(actions) do
    if key ~= "" then
      vim.keymap.set("n", key, action, { buffer = buf, nowait = true })
    end
  end
end

-- Opens the list of the current thread's last turn with changes.
function M.open()
  local shown = require("codex-bridge.session").about().thread
  if not shown then
    return notify(S.no_thread, vim.log.levels.WARN)
  end
  changes.latest(shown, function(err, found)
    if err then
      return notify(S.no_restore_point:format(err), vim.log.levels.WARN)
    end
    turn, thread = found, shown
    create_buffer()
    local window = vim.fn.bufwinid(buf)
    if window ~= -1 then
      vim.api.nvim_set_current_win(window)
    else
      ui.split_below(buf)
    end
    local keys, o = config.current.keys, vim.wo[0][0]
    o.wrap, o.number, o.relativenumber = false, false, false
    o.winbar = ui.escape(S.change_keys:format(keys.accept or "-", keys.decline or "-", keys.diff or "<CR>"))
    render()
    vim.api.nvim_win_set_cursor(0, { 1, 0 })
  end)
end

return M
