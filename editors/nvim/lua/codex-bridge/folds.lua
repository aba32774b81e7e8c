-- The folds of a chat: that of an output, and those of the items of a list. row is that of a block's head, from 0.
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

-- Creates the folds of a block in a window. is_open has the keys of items whose folds are open.
function M.create(block, row, window, is_open)
  vim.api.nvim_win_call(window, function()
    if block.output then
      vim.cmd(("silent %d,%dfold"):format(row + 1, row + block.lines - 1))
    end
    for _, item in ipairs(block.folds or {}) do
      vim.cmd(("silent %d,%dfold"):format(row + 2 + item.first, row + 2 + item.last))
      if is_open and is_open[item.key] then
        vim.cmd(("silent %dfoldopen"):format(row + 2 + item.first))
      end
    end
  end)
end

-- Deletes the folds of a list in a window, and returns the keys of those that are open.
function M.delete(block, row, window)
  local is_open = {}
  vim.api.nvim_win_call(window, function()
    local view = vim.fn.winsaveview()
    for _, item in ipairs(block.folds or {}) do
      local line = row + 2 + item.first
      is_open[item.key] = vim.fn.foldclosed(line) == -1
      vim.api.nvim_win_set_cursor(window, { line, 0 })
      vim.cmd("silent! normal! zd")
    end
    vim.fn.winrestview(view)
  end)
  return is_open
end

-- Returns the 'foldtext' of a fold that begins with a block: its head, its state and the number of lines. Without a block
-- it is the first line.
function M.text(block)
  local text = "▸ " .. vim.fn.getline(vim.v.foldstart):gsub("^#+ ", "")
  if not block then
    return text
  end
  local count = block.has_text and block.lines - 4 or 0
  local ending = (" · %s · %s"):format(block.state or "", (count == 1 and S.one_line or S.lines):format(count))
  return ui.truncate(text, vim.api.nvim_win_get_width(0) - vim.fn.strdisplaywidth(ending)) .. ending
end

return M
