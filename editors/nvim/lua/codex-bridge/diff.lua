-- A patch before it is written: what there is on the left, what there would be on the
-- right, in a tab of its own, accepted or declined there.
local config = require("codex-bridge.config")

local M = {}

local signs = { add = "+", delete = "-" }

local function body(change)
  return vim.split((change.diff:gsub("\n$", "")), "\n", { plain = true })
end

-- A patch as text, as `diff` writes it.
function M.text(changes)
  local out = {}
  for _, change in ipairs(changes) do
    out[#out + 1] = ("diff %s %s"):format(change.kind.type, vim.fn.fnamemodify(change.path, ":~:."))
    if change.kind.move_path then
      out[#out + 1] = "rename to " .. change.kind.move_path
    end
    for _, line in ipairs(body(change)) do
      out[#out + 1] = (signs[change.kind.type] or "") .. line
    end
  end
  return out
end

-- The lines of a file after a unified diff; nil where the diff does not fit it.
function M.apply(before, diff)
  local after, at = {}, 1
  for _, line in ipairs(diff) do
    local first, count = line:match("^@@ %-(%d+),?(%d*)")
    local sign, text = line:sub(1, 1), line:sub(2)
    if first then
      -- A hunk without old lines names the line that it comes after.
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

-- Both sides of a change; nil where there is only the patch to show.
local function sides(change)
  if change.kind.type == "add" then
    return {}, body(change)
  elseif change.kind.type == "delete" then
    return body(change), {}
  end
  local ok, before = pcall(vim.fn.readfile, change.path)
  local after = ok and M.apply(before, body(change))
  if not after then
    return nil
  end
  return before, after
end

local function scratch(name, lines, filetype)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  pcall(vim.api.nvim_buf_set_name, buf, name)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].filetype = filetype
  vim.bo[buf].modifiable = false
  return buf
end

local View = {}
View.__index = View

function View:bar(window, text)
  vim.wo[window][0].winbar = (text:gsub("%%", "%%%%"))
end

function View:hint()
  local keys = config.current.keys
  local hint = ("%s accept  %s decline  :q later"):format(keys.accept or ":CodexAccept", keys.decline or ":CodexDecline")
  if #self.changes > 1 then
    hint = ("%s  %s next of %d files"):format(hint, keys.next_file or ":CodexNextFile", #self.changes)
  end
  return hint
end

-- Shows one file of the patch.
function View:file(i)
  local change = self.changes[i]
  self.at = i
  local path = vim.fn.fnamemodify(change.path, ":~:.")
  local before, after = sides(change)
  local filetype = before and vim.filetype.match({ filename = change.path, contents = after }) or "diff"
  self.turning = true
  vim.api.nvim_set_current_tabpage(self.tab)
  vim.cmd("silent only")
  local window = vim.api.nvim_get_current_win()
  vim.cmd.diffoff()
  local old = vim.api.nvim_get_current_buf()
  vim.api.nvim_win_set_buf(window, self:keys(scratch("codex://after/" .. path, after or M.text({ change }), filetype or "")))
  if vim.api.nvim_buf_is_valid(old) and old ~= vim.api.nvim_win_get_buf(window) then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  local what = ({ add = "new file", delete = "deleted", update = "after" })[change.kind.type] or change.kind.type
  self:bar(window, ("%s (%s)%s  │  %s"):format(path, what, self.reason and " — " .. self.reason or "", self:hint()))
  if before and #before > 0 then
    vim.cmd("leftabove vsplit")
    local left = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(left, self:keys(scratch("codex://before/" .. path, before, filetype or "")))
    vim.cmd.diffthis()
    self:bar(left, path .. " (now)")
    vim.api.nvim_set_current_win(window)
    vim.cmd.diffthis()
    vim.cmd("silent! normal! gg]c")
  end
  self.turning = false
end

function View:keys(buf)
  local keys = config.current.keys
  local function turn(by)
    return function()
      self:file((self.at - 1 + by) % #self.changes + 1)
    end
  end
  local actions = {
    accept = { "CodexAccept", function() self:finish("accept") end },
    decline = { "CodexDecline", function() self:finish("decline") end },
    next_file = { "CodexNextFile", turn(1) },
    previous_file = { "CodexPreviousFile", turn(-1) },
  }
  for name, action in pairs(actions) do
    vim.api.nvim_buf_create_user_command(buf, action[1], action[2], {})
    if keys[name] then
      vim.keymap.set("n", keys[name], action[2], { buffer = buf, nowait = true, desc = "codex: " .. name })
    end
  end
  vim.api.nvim_create_autocmd("WinClosed", {
    buffer = buf,
    callback = vim.schedule_wrap(function()
      if not self.turning then
        self:finish(nil)
      end
    end),
  })
  return buf
end

function View:close()
  self.over = true
  if vim.api.nvim_tabpage_is_valid(self.tab) then
    vim.cmd.tabclose({ args = { tostring(vim.api.nvim_tabpage_get_number(self.tab)) } })
  end
  if vim.api.nvim_win_is_valid(self.from) then
    vim.api.nvim_set_current_win(self.from)
  end
end

function View:finish(decision)
  if not self.over then
    self:close()
    self.done(decision)
  end
end

-- done("accept" or "decline"), or done(nil) when a window is closed without either. The
-- function that is returned takes the tab away.
function M.show(changes, reason, done)
  local self = setmetatable({ changes = changes, reason = reason, done = done, from = vim.api.nvim_get_current_win() }, View)
  vim.cmd("tab split")
  self.tab = vim.api.nvim_get_current_tabpage()
  vim.cmd.enew()
  vim.bo.bufhidden, vim.bo.buflisted = "wipe", false
  self:file(1)
  return function()
    if not self.over then
      self:close()
    end
  end
end

return M
