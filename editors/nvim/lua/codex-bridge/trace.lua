-- Opens the trace of the current thread.
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")

local M = {}

local function show_lines(name, lines, filetype)
  vim.cmd.tabnew()
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = "nofile", "wipe", false
  pcall(vim.api.nvim_buf_set_name, buf, name)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].filetype, vim.bo[buf].modifiable = filetype, false
  vim.wo[0][0].wrap = false
end

-- Shows Codex's rollout file: JSON Lines.
local function show_rollout(thread)
  if not thread.path or vim.fn.filereadable(thread.path) ~= 1 then
    return vim.notify(S.not_saved, vim.log.levels.WARN)
  end
  show_lines("codex://rollout/" .. thread.id, vim.fn.readfile(thread.path), "json")
end

-- Shows the bridge's trace, or Codex's rollout file if there is no trace.
function M.open()
  local thread = require("codex-bridge.session").about().thread
  if not thread then
    return vim.notify(S.no_thread, vim.log.levels.WARN)
  end
  if config.framing() ~= "headers" then
    return show_rollout(thread)
  end
  vim.system({ config.current.cmd[1], "trace", "show", thread.id }, { text = true, timeout = 30000, env = config.current.env }, vim.schedule_wrap(function(out)
    if out.code ~= 0 then
      return show_rollout(thread)
    end
    show_lines("codex://trace/" .. thread.id, vim.split(out.stdout, "\n", { trimempty = true }), "")
  end))
end

return M
