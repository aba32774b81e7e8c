-- Remembers the last window that showed a file. The editor tools take it as the user's current window.
local M = {}

local last

local function has_file(window)
  return vim.api.nvim_win_is_valid(window) and vim.bo[vim.api.nvim_win_get_buf(window)].buftype == ""
end

-- Remembers the current window if it shows a file.
function M.remember()
  local window = vim.api.nvim_get_current_win()
  if has_file(window) then
    last = window
  end
end

-- Returns the last window with a file, else any such window of the tab, else nil.
function M.get()
  M.remember()
  if last and has_file(last) then
    return last
  end
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if has_file(window) then
      return window
    end
  end
end

-- Opens a file at a line and a column (from 1) in the window of the user's files.
function M.open(path, line, column)
  local window = M.get()
  if window and vim.api.nvim_win_get_tabpage(window) == vim.api.nvim_get_current_tabpage() then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd("topleft vsplit")
  end
  vim.cmd.edit(vim.fn.fnameescape(path))
  if line then
    vim.api.nvim_win_set_cursor(0, { math.max(1, math.min(line, vim.api.nvim_buf_line_count(0))), math.max(0, (column or 1) - 1) })
  end
end

-- Remembers windows as the user leaves them.
function M.watch(group)
  vim.api.nvim_create_autocmd("WinLeave", { group = group, callback = M.remember })
end

return M
