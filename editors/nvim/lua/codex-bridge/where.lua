-- The window with a file that one was in last: what "here" means to the editor's tools.
local M = {}

local last

local function is_file(window)
  return vim.api.nvim_win_is_valid(window) and vim.bo[vim.api.nvim_win_get_buf(window)].buftype == ""
end

-- Remembers the window at hand, if it has a file.
function M.keep()
  local window = vim.api.nvim_get_current_win()
  if is_file(window) then
    last = window
  end
end

-- A window with a file, or nil.
function M.window()
  M.keep()
  if last and is_file(last) then
    return last
  end
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if is_file(window) then
      return window
    end
  end
end

function M.watch(group)
  vim.api.nvim_create_autocmd("WinLeave", { group = group, callback = M.keep })
end

return M
