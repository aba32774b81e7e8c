-- Compares a file with what an undo would make of it, in a new tab. The file itself is on the right, to edit by hand.
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local function scratch(name, state)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  pcall(vim.api.nvim_buf_set_name, buf, name)
  local lines = vim.split(state.data or "", "\n", { plain = true })
  if #lines > 1 and lines[#lines] == "" then
    lines[#lines] = nil
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  return buf
end

-- Shows the target on the left, and on the right the file of the root, or the state if it can't be edited.
function M.compare(root, path, target, state)
  local full = root .. "/" .. path
  local stat = vim.uv.fs_lstat(full)
  vim.cmd("tab split")
  if stat and stat.type == "file" then
    local buf = vim.fn.bufadd(full)
    vim.bo[buf].buflisted = true
    vim.api.nvim_win_set_buf(0, buf)
  else
    vim.api.nvim_win_set_buf(0, scratch("codex://now/" .. path, state))
  end
  local filetype = vim.bo.filetype
  local right = vim.api.nvim_get_current_win()
  vim.cmd.diffthis()
  vim.wo[right][0].winbar = ui.escape(S.now:format(ui.short_path(full)))
  vim.cmd("leftabove vsplit")
  local buf = scratch("codex://undone/" .. path, target)
  vim.api.nvim_win_set_buf(0, buf)
  vim.bo[buf].filetype = filetype
  vim.cmd.diffthis()
  vim.wo[0][0].winbar = ui.escape(S.undone_side)
  vim.api.nvim_set_current_win(right)
end

-- Compares a file of a turn, or one of its hunks.
function M.open(turn, file, hunk)
  local step = require("codex-bridge.checkpoint.turns").step(file, hunk)
  M.compare(turn.store.root, file.path, step.target, require("codex-bridge.checkpoint.file").state(turn.store.root, file.path))
end

return M
