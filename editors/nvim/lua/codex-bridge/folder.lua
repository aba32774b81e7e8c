-- Folders of the plugin.
local M = {}

-- How many folders of a path another editor may create at the same time.
local MOST = 8

-- Creates a folder and those above it. Another editor may create one of them at the same time, which mkdir calls an
-- error.
function M.create(path, mode)
  for _ = 1, MOST do
    if pcall(vim.fn.mkdir, path, "p", mode) then
      return
    end
  end
  vim.fn.mkdir(path, "p", mode)
end

return M
