-- What was said between Codex and the model in the thread at hand.
local config = require("codex-bridge.config")

local M = {}

local function show(name, lines, filetype)
  vim.cmd.tabnew()
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = "nofile", "wipe", false
  pcall(vim.api.nvim_buf_set_name, buf, name)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].filetype, vim.bo[buf].modifiable = filetype, false
  vim.wo[0][0].wrap = false
end

-- The record that Codex keeps of a thread: JSON Lines.
local function rollout(thread)
  if not thread.path or vim.fn.filereadable(thread.path) ~= 1 then
    return vim.notify("codex has not written anything of this thread yet", vim.log.levels.WARN)
  end
  show("codex://record/" .. thread.id, vim.fn.readfile(thread.path), "json")
end

-- The bridge's trace where it keeps one, else Codex's own record.
function M.open()
  local thread = require("codex-bridge.session").about().thread
  if not thread then
    return vim.notify("codex has no thread yet", vim.log.levels.WARN)
  end
  if config.framing() ~= "headers" then
    return rollout(thread)
  end
  vim.system({ config.current.cmd[1], "trace", "show", thread.id }, { text = true, timeout = 30000, env = config.current.env }, vim.schedule_wrap(function(out)
    if out.code ~= 0 then
      return rollout(thread)
    end
    show("codex://trace/" .. thread.id, vim.split(out.stdout, "\n", { trimempty = true }), "")
  end))
end

return M
