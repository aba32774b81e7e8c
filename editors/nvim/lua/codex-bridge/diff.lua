-- Shows a proposed patch as a diff in a new tab, where the user accepts or declines it. The left side is the
-- current file, the right side is the patched one.
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local signs = { add = "+", delete = "-" }

local function diff_lines(change)
  return vim.split((change.diff:gsub("\n$", "")), "\n", { plain = true })
end

-- Returns the lines of a patch, in the style of `diff`.
function M.lines(changes)
  local out = {}
  for _, change in ipairs(changes) do
    out[#out + 1] = ("diff %s %s"):format(change.kind.type, ui.short_path(change.path))
    if change.kind.move_path then
      out[#out + 1] = S.rename_to:format(change.kind.move_path)
    end
    for _, line in ipairs(diff_lines(change)) do
      out[#out + 1] = (signs[change.kind.type] or "") .. line
    end
  end
  return out
end

-- Applies a unified diff to the lines of a file. Returns nil if it does not fit.
function M.apply(before, diff)
  local after, at = {}, 1
  for _, line in ipairs(diff) do
    local first, count = line:match("^@@ %-(%d+),?(%d*)")
    local sign, text = line:sub(1, 1), line:sub(2)
    if first then
      -- A hunk without old lines follows the line that it names.
      first = tonumber(first) + (count == "0" and 1 or 0)
      if first < at then
        return nil
      end
      vim.list_extend(after, before, at, first - 1)
      at = first
    elseif sign == "+" then
      after[#after + 1] = text
    elseif sign == "-" or sign == " " or line == "" then
      if before[at] ~= text then
        return nil
      end
      if sign ~= "-" then
        after[#after + 1] = text
      end
      at = at + 1
    end
  end
  return vim.list_extend(after, before, at)
end

-- Returns the lines before and after a change, or nil if the patch does not fit the file.
local function sides(change)
  if change.kind.type == "add" then
    return {}, diff_lines(change)
  elseif change.kind.type == "delete" then
    return diff_lines(change), {}
  end
  local ok, before = pcall(vim.fn.readfile, change.path)
  local after = ok and M.apply(before, diff_lines(change))
  if not after then
    return nil
  end
  return before, after
end

local function new_buffer(name, lines, filetype, is_editable)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  pcall(vim.api.nvim_buf_set_name, buf, name)
  local levels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1 -- an undo does not empty the buffer
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].undolevels = levels
  vim.bo[buf].filetype = filetype
  vim.bo[buf].modifiable = is_editable or false
  return buf
end

local PatchView = {}
PatchView.__index = PatchView

local function set_winbar(window, text)
  vim.wo[window][0].winbar = ui.escape(ui.truncate(text, vim.api.nvim_win_get_width(window)))
end

-- Returns the keys for the winbar.
function PatchView:hint()
  local keys = config.current.keys
  local parts = { (self.edit and S.edit_accept or S.diff_accept):format(keys.accept or ":CodexAccept") }
  parts[#parts + 1] = self.edit and S.edit_keep or nil
  parts[#parts + 1] = S.diff_decline:format(keys.decline or ":CodexDecline")
  if #self.changes > 1 then
    parts[#parts + 1] = S.diff_next:format(keys.next_file or ":CodexNextFile")
  end
  parts[#parts + 1] = S.diff_later
  parts[#parts + 1] = self.countdown
  return table.concat(parts, "  ")
end

function PatchView:title(path, kind)
  local what = self.edit and S.edit_side or ({ add = S.new_file, delete = S.deleted_file, update = S.after })[kind.type] or kind.type
  local moved = kind.move_path and " → " .. vim.fn.fnamemodify(kind.move_path, ":~:.") or ""
  local title = ("%s%s (%s)"):format(path, moved, what)
  if #self.changes > 1 then
    title = ("%s %d/%d"):format(title, self.at, #self.changes)
  end
  return title
end

-- Shows file i of the patch.
function PatchView:show_file(i)
  self:keep_text()
  local change = self.changes[i]
  self.at = i
  local path = ui.short_path(change.path)
  local before, after
  if self.edit then
    before, after = self.edit:sides(i)
  else
    before, after = sides(change)
  end
  local filetype = before and (vim.filetype.match({ filename = change.path, contents = after }) or "") or "diff"
  self.switching = true
  vim.api.nvim_set_current_tabpage(self.tab)
  vim.cmd("silent only")
  vim.cmd.diffoff()
  local window, old = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  local right = self:set_keys(new_buffer("codex://after/" .. path, after or M.lines({ change }), filetype, self.edit ~= nil))
  vim.api.nvim_win_set_buf(window, right)
  if self.edit then
    self:allow_write(right)
  end
  if vim.api.nvim_buf_is_valid(old) then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  if before and #before > 0 then
    vim.cmd("leftabove vsplit")
    local left = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(left, self:set_keys(new_buffer("codex://before/" .. path, before, filetype)))
    vim.cmd.diffthis()
    set_winbar(left, S.now:format(path))
    vim.api.nvim_set_current_win(window)
    vim.cmd.diffthis()
    vim.cmd("silent! normal! gg]c")
  end
  self.window = window
  self:show_winbar()
  self.switching = false
end

-- Makes :write keep the text of the user.
function PatchView:allow_write(buf)
  self.buf = buf
  vim.bo[buf].buftype, vim.bo[buf].modified = "acwrite", false
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buf,
    callback = function()
      self:keep_text()
    end,
  })
end

-- Keeps the text of the file that the user edits.
function PatchView:keep_text()
  if self.buf and vim.api.nvim_buf_is_loaded(self.buf) then
    self.edit:set(self.at, vim.api.nvim_buf_get_lines(self.buf, 0, -1, true))
    vim.bo[self.buf].modified = false
  end
end

function PatchView:show_winbar()
  local change = self.changes[self.at]
  local reason = self.reason and " │ " .. self.reason or "" -- last: a narrow window cuts the end
  set_winbar(self.window, ("%s │ %s%s"):format(self:title(ui.short_path(change.path), change.kind), self:hint(), reason))
end

-- Shows the time that is left in the winbar.
function PatchView:set_countdown(text)
  self.countdown = text
  if not self.closed and vim.api.nvim_win_is_valid(self.window) then
    self:show_winbar()
  end
end

-- Defines the keys and commands of a buffer, and returns it.
function PatchView:set_keys(buf)
  local keys = config.current.keys
  local function move(by)
    return function()
      self:show_file((self.at - 1 + by) % #self.changes + 1)
    end
  end
  local actions = {
    accept = { "CodexAccept", function() self:finish("accept") end },
    decline = { "CodexDecline", function() self:finish("decline") end },
    next_file = { "CodexNextFile", move(1) },
    previous_file = { "CodexPreviousFile", move(-1) },
  }
  for name, action in pairs(actions) do
    vim.api.nvim_buf_create_user_command(buf, action[1], action[2], {})
    if keys[name] then
      vim.keymap.set("n", keys[name], action[2], { buffer = buf, nowait = true, desc = S.state:format(name) })
    end
  end
  vim.api.nvim_create_autocmd("WinClosed", {
    buffer = buf,
    callback = function()
      if not self.switching then
        vim.schedule(function()
          self:finish(nil)
        end)
      end
    end,
  })
  return buf
end

function PatchView:close()
  self.closed = true
  if vim.api.nvim_tabpage_is_valid(self.tab) then
    vim.cmd.tabclose({ args = { tostring(vim.api.nvim_tabpage_get_number(self.tab)) } })
  end
  if vim.api.nvim_win_is_valid(self.from) then
    vim.api.nvim_set_current_win(self.from)
  end
end

function PatchView:finish(decision)
  if not self.closed then
    self:keep_text()
    self:close()
    self.done(decision)
  end
end

-- Shows changes. done is called with "accept" or "decline", or with nil if the user closes a window first. Returns
-- the view, which has dismiss and set_countdown. edit: the texts that the user may change, see requests/patch_edit.lua.
function M.show(changes, reason, countdown, done, edit)
  local self = setmetatable({ changes = changes, reason = reason, countdown = countdown, done = done, edit = edit, from = vim.api.nvim_get_current_win() }, PatchView)
  vim.cmd("tab split")
  self.tab = vim.api.nvim_get_current_tabpage()
  vim.cmd.enew()
  vim.bo.bufhidden, vim.bo.buflisted = "wipe", false
  self:show_file(1)
  return self
end

-- Closes the tab without an answer.
function PatchView:dismiss()
  if not self.closed then
    self:keep_text()
    self:close()
  end
end

return M
