-- item/fileChange/requestApproval: Codex wants to write a patch. The card shows its beginning; a key shows it as a diff.
local choices = require("codex-bridge.requests.choices")
local describe = require("codex-bridge.requests.describe")
local display = require("codex-bridge.display")
local patch_edit = require("codex-bridge.requests.patch_edit")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local MAX_LINES = 12

-- Returns the names of the files, or if there are many, their folders with the number of files.
local function file_names(changes)
  local groups = require("codex-bridge.groups").by_folder(changes, function(change)
    return ui.short_path(change.path)
  end)
  if groups then
    return S.count_files:format(#changes) .. "\n" .. table.concat(vim.tbl_map(function(group)
      return require("codex-bridge.changes.lines").folder_name(group)
    end, groups), "\n")
  end
  return table.concat(vim.tbl_map(function(change)
    local to = change.kind.move_path
    return display.path(ui.short_path(change.path)) .. (to and " → " .. display.path(ui.short_path(to)) or "")
  end, changes), ", ")
end

-- Returns the choices of the card. edit: that of the user, if they have one.
local function choices_of(is_editable, edit)
  local all = {
    { name = "accept", label = edit and S.accept_edited or S.accept, value = "accept" },
    { name = "decline", label = S.decline, value = "decline" },
    { name = "cancel", label = S.cancel, value = "cancel" },
    { name = "diff", label = S.show_diff, value = "diff" },
  }
  if is_editable then
    all[#all + 1] = { name = "edit", label = edit and S.edit_again or S.edit_patch, value = "edit" }
  end
  if edit then
    all[#all + 1] = { name = "discard", label = S.discard_edits, value = "discard" }
  end
  return all
end

-- Returns the options of the card.
function M.card(p, changes, edit)
  local reason, leaves, said = describe.reason(p)
  local rows = { { S.files, file_names(changes) } }
  if leaves then
    rows[#rows + 1] = { S.leaves, leaves }
  end
  if p.grantRoot then
    rows[#rows + 1] = { S.grants_more, S.write_below:format(display.value(p.grantRoot)) }
  end
  if reason then
    rows[#rows + 1] = { S.reason, reason }
  end
  if said then
    rows[#rows + 1] = describe.quotation(said)
  end
  local warns = leaves or p.grantRoot
  local why_not = patch_edit.why_not(p, changes, warns)
  if why_not then
    rows[#rows + 1] = { S.edit, why_not }
  end
  local lines = require("codex-bridge.diff").lines(changes)
  if #lines > MAX_LINES + 1 then -- the place of one line would hold that line
    local more = #lines - MAX_LINES
    lines = vim.list_extend(vim.list_slice(lines, 1, MAX_LINES), { S.more_lines:format(more) })
  end
  rows[#rows + 1] = { S.what, display.document(table.concat(lines, "\n")) }
  return {
    title = warns and S.leaves_sandbox or S.asks_patch, highlight = warns and "DiagnosticWarn" or nil, rows = rows,
    choices = choices_of(not why_not, edit),
  }
end

local View = {}
View.__index = View

function View:show_card()
  self.diff = nil
  if self.edit and not self.edit:is_changed() then
    self.edit = nil
  end
  self.card = choices.show(M.card(self.params, self.changes, self.edit), self.request, function(value)
    self.card = nil
    if value == "diff" then
      return self:show_diff()
    elseif value == "edit" then
      return self:show_edit()
    elseif value == "discard" then
      self.edit = nil
      return self:show_card()
    end
    self:answer(value)
  end)
end

-- Shows the patch as a diff. edit: its right side can be edited.
function View:show_diff(edit)
  local cards = require("codex-bridge.requests.card")
  local expires_at = self.request.expires_at
  local stop
  self.diff = require("codex-bridge.diff").show(self.changes, (describe.reason(self.params)), cards.countdown(expires_at), function(decision)
    stop()
    -- The diff has no room for what grantRoot grants; the card has.
    if decision == nil or decision == "accept" and self.params.grantRoot then
      return self:show_card()
    end
    self.diff = nil
    self:answer(decision)
  end, edit)
  stop = cards.every_second(function()
    if expires_at and self.diff then
      self.diff:set_countdown(cards.countdown(expires_at))
    end
  end)
  self.stop_ticks = stop
end

function View:show_edit()
  local reason
  if not self.edit then
    self.edit, reason = patch_edit.new(self.params, self.changes)
  end
  if not self.edit then
    vim.notify(reason, vim.log.levels.WARN)
    return self:show_card()
  end
  self:show_diff(self.edit)
end

-- Answers the request. An accept accepts the user's version, if they have one.
function View:answer(decision)
  if not self.edit or decision == nil then
    return self.done(decision)
  elseif decision ~= "accept" then
    self.edit:keep()
    return self.done(decision)
  end
  self.edit:accept(self.request, function(err, answer)
    if err then
      vim.notify(S.error:format(err), vim.log.levels.WARN)
      if not self.request.resolved then
        return self:show_card()
      end
      self.edit:keep()
    end
    self.done(answer)
  end)
end

function View:is_visible()
  return self.card and self.card:is_visible() or self.diff ~= nil and self.diff.tab == vim.api.nvim_get_current_tabpage()
end

function View:focus()
  if self.card then
    self.card:focus()
  elseif self.diff then
    vim.api.nvim_set_current_tabpage(self.diff.tab)
  end
end

function View:choose(name)
  if self.card then
    return self.card:choose(name)
  elseif self.diff and (name == "accept" or name == "decline") then
    self.diff:finish(name)
    return true
  end
  return false
end

function View:dismiss()
  local is_shown = self.card or self.diff
  if self.card then
    self.card:dismiss()
  elseif self.diff then
    self.stop_ticks()
    self.diff:dismiss()
  end
  self.card, self.diff = nil, nil
  if self.edit and is_shown then -- else it is being accepted
    self.edit:keep()
  end
end

function M.show(request, done, item)
  if not item then
    vim.notify(S.patch_without_content, vim.log.levels.WARN)
    done("decline")
    return nil
  end
  local self = setmetatable({ params = request.params, changes = item.changes, request = request, done = done }, View)
  self:show_card()
  return self
end

function M.response(decision)
  return { decision = decision }
end

return M
