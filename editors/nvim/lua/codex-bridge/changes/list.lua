-- The list of a turn's changes: files and hunks, with keys to keep, undo and compare them.
local changes = require("codex-bridge.changes")
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.changes")
local MAX_LINES = 40
local buf, turn, places -- places: by line, { file, hunk }
local thread

local function value(text)
  return require("codex-bridge.requests.describe").value(text)
end

local function notify(text, level)
  vim.notify(text, level or vim.log.levels.INFO)
end

local function letter(file)
  if file.before.kind == "absent" then
    return "A"
  elseif file.after.kind == "absent" then
    return "D"
  end
  return file.before.kind == file.after.kind and "M" or "T"
end

local function head(file)
  local parts = { letter(file) .. " " .. value(file.path) }
  if file.hunks then
    local added, removed = 0, 0
    for _, hunk in ipairs(file.hunks) do
      added, removed = added + hunk.added, removed + hunk.removed
    end
    parts[#parts + 1] = ("+%d -%d"):format(added, removed)
  else
    parts[#parts + 1] = S.sizes:format(#(file.before.data or ""), #(file.after.data or ""))
  end
  if file.before.kind == "file" and file.after.kind == "file" and file.before.executable ~= file.after.executable then
    parts[#parts + 1] = file.after.executable and S.made_executable or S.made_not_executable
  end
  if file.saved then
    parts[#parts + 1] = S.you_saved
  end
  return table.concat(parts, "  ")
end

-- Adds the lines of a hunk: add(text, highlight).
local function add_hunk(file, hunk, add)
  local merge = require("codex-bridge.checkpoint.merge")
  add(("  @@ -%d,%d +%d,%d @@"):format(hunk.before, hunk.removed, hunk.after, hunk.added), "Title")
  local shown, more = 0, 0
  local function add_lines(sign, highlight, text, first, count)
    local lines = merge.lines_of(text)
    for i = first, first + count - 1 do
      shown = shown + 1
      if shown <= MAX_LINES then
        add("  " .. sign .. value((lines[i]:gsub("\n$", ""))), highlight)
      else
        more = more + 1
      end
    end
  end
  add_lines("-", "DiffDelete", file.before.data or "", hunk.before, hunk.removed)
  add_lines("+", "DiffAdd", file.after.data or "", hunk.after, hunk.added)
  if more > 0 then
    add("  " .. S.more_lines:format(more), "Comment")
  end
end

-- Reports whether a file or hunk still needs a decision.
local function is_open(file, hunk)
  return not (file.done or hunk and (file.undone[hunk] or file.kept[hunk]))
end

local function render()
  local lines, marks = {}, {}
  places = {}
  local place
  local function add(text, highlight)
    lines[#lines + 1] = text
    places[#lines] = place
    if highlight then
      marks[#marks + 1] = { #lines - 1, highlight }
    end
  end
  local running = changes.running(thread.id)
  if running then
    add(S.turn_runs, "Comment")
    for _, line in ipairs(vim.split(running.diff or "", "\n", { plain = true, trimempty = true })) do
      add(value(line))
    end
  else
    for _, file in ipairs(turn and turn.files or {}) do
      if is_open(file) then
        place = { file = file }
        add(head(file), "Directory")
        for i, hunk in ipairs(file.hunks or {}) do
          if is_open(file, i) then
            place = { file = file, hunk = i }
            add_hunk(file, hunk, add)
          end
        end
      end
    end
    place = nil
    if #lines == 0 then
      add(S.none_to_undo)
    end
    if turn and turn.unfinished then
      add(S.unfinished, "WarningMsg")
    end
    for _, path in ipairs(turn and turn.uncovered or {}) do
      add(S.not_covered:format(value(path)), "Comment")
    end
  end
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  for _, mark in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(buf, ns, mark[1], 0, { end_row = mark[1], end_col = #lines[mark[1] + 1], hl_group = mark[2] })
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

-- Marks a place as kept or undone, and removes it from the list.
local function finish(place, list)
  local file, hunk = place.file, place.hunk
  if not hunk then
    file.done = true
  else
    file[list][hunk] = true
    local open = false
    for i in ipairs(file.hunks) do
      open = open or is_open(file, i)
    end
    file.done = not open
  end
  if vim.api.nvim_buf_is_valid(buf) then
    render()
  end
end

local function diff(place)
  require("codex-bridge.changes.diff").open(turn, place.file, place.hunk)
end

local function undo(place)
  changes.undo(turn, place.file, place.hunk, function(err, plan)
    if err then
      return notify(S.not_undone:format(value(place.file.path), err), vim.log.levels.WARN)
    elseif plan.verdict == "conflict" or plan.verdict == "refused" then
      notify(S.not_undone:format(value(place.file.path), plan.reason), vim.log.levels.WARN)
      return plan.verdict == "conflict" and diff(place)
    end
    finish(place, "undone")
    notify((plan.verdict == "merged" and S.undone_merged or S.undone):format(value(place.file.path)))
  end)
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

local function at_place(action)
  return function()
    local place = current_place()
    if place then
      action(place)
    end
  end
end

local function create_buffer()
  buf = ui.scratch_buffer(buf, "codex://changes")
  vim.bo[buf].filetype, vim.bo[buf].undolevels = "codex-changes", -1
  local keys = config.current.keys
  local actions = {
    [keys.accept or ""] = at_place(function(place) finish(place, "kept") end),
    [keys.decline or ""] = at_place(undo),
    [keys.diff or ""] = at_place(diff),
    ["<CR>"] = at_place(diff),
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
      vim.cmd("botright split")
      vim.api.nvim_win_set_buf(0, buf)
    end
    local keys, o = config.current.keys, vim.wo[0][0]
    o.wrap, o.number, o.relativenumber = false, false, false
    o.winbar = ui.escape(S.change_keys:format(keys.accept or "-", keys.decline or "-", keys.diff or "<CR>"))
    render()
    vim.api.nvim_win_set_cursor(0, { 1, 0 })
  end)
end

return M
