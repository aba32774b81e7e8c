-- What happens, told to whoever listens: User autocommands named Codex….
local M = {}

function M.emit(name, data)
  vim.api.nvim_exec_autocmds("User", { pattern = "Codex" .. name, data = data or {}, modeline = false })
end

-- Statuslines and winbars show another state.
function M.changed()
  vim.cmd.redrawstatus({ bang = true })
end

return M
