-- Opens the trace of the current thread.
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

-- Shows Codex's rollout file: JSON Lines.
local function show_rollout(thread)
  if not thread.path or vim.fn.filereadable(thread.path) ~= 1 then
    return vim.notify(S.not_saved, vim.log.levels.WARN)
  end
  ui.show_text("codex://rollout/" .. thread.id, vim.fn.readfile(thread.path), "json")
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
    ui.show_text("codex://trace/" .. thread.id, vim.split(out.stdout, "\n", { trimempty = true }), "")
  end))
end

return M
