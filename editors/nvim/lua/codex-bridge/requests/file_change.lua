-- item/fileChange/requestApproval: Codex wants to write a patch. The card shows its beginning; a key shows it as a diff.
local choices = require("codex-bridge.requests.choices")
local describe = require("codex-bridge.requests.describe")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local MAX_LINES = 12

local function file_names(changes)
  return table.concat(vim.tbl_map(function(change)
    local to = change.kind.move_path
    return describe.value(ui.short_path(change.path)) .. (to and " → " .. describe.value(ui.short_path(to)) or "")
  end, changes), ", ")
end

-- Returns the options of the card.
function M.card(p, changes)
  local reason, leaves = describe.reason(p.reason)
  local rows = { { S.files, file_names(changes) } }
  if leaves then
    rows[#rows + 1] = { S.leaves, leaves }
  end
  if p.grantRoot then
    rows[#rows + 1] = { S.grants_more, S.write_below:format(describe.value(p.grantRoot)) }
  end
  if reason then
    rows[#rows + 1] = { S.reason, reason }
  end
  local lines = require("codex-bridge.diff").lines(changes)
  if #lines > MAX_LINES + 1 then -- the place of one line would hold that line
    local more = #lines - MAX_LINES
    lines = vim.list_extend(vim.list_slice(lines, 1, MAX_LINES), { S.more_lines:format(more) })
  end
  rows[#rows + 1] = { S.what, describe.visible(table.concat(lines, "\n")) }
  local warns = leaves or p.grantRoot
  return {
    title = warns and S.leaves_sandbox or S.asks_patch, highlight = warns and "DiagnosticWarn" or nil, rows = rows,
    choices = {
      { name = "accept", label = S.accept, value = "accept" },
      { name = "decline", label = S.decline, value = "decline" },
      { name = "cancel", label = S.cancel, value = "cancel" },
      { name = "diff", label = S.show_diff, value = "diff" },
    },
  }
end

local View = {}
View.__index = View

function View:show_card()
  self.diff = nil
  self.card = choices.show(M.card(self.params, self.changes), self.request, function(value)
    self.card = nil
    if value == "diff" then
      return self:show_diff()
    end
    self.done(value)
  end)
end

function View:show_diff()
  local cards = require("codex-bridge.requests.card")
  local expires_at = self.request.expires_at
  local stop
  self.diff = require("codex-bridge.diff").show(self.changes, describe.reason(self.params.reason), cards.countdown(expires_at), function(decision)
    stop()
    -- The diff has no room for what grantRoot grants; the card has.
    if decision == nil or decision == "accept" and self.params.grantRoot then
      return self:show_card()
    end
    self.diff = nil
    self.done(decision)
  end)
  stop = cards.every_second(function()
    if expires_at and self.diff then
      self.diff:set_countdown(cards.countdown(expires_at))
    end
  end)
  self.stop_ticks = stop
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
  elseif name == "accept" or name == "decline" then
    self.diff:finish(name)
    return true
  end
  return false
end

function View:dismiss()
  if self.card then
    self.card:dismiss()
  elseif self.diff then
    self.stop_ticks()
    self.diff:dismiss()
  end
  self.card, self.diff = nil, nil
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
