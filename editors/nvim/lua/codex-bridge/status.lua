-- Publishes the state of the plugin: texts for statuslines and winbars, and User autocommands.
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

-- Runs the User autocommands for "Codex" .. name.
function M.emit(name, data)
  vim.api.nvim_exec_autocmds("User", { pattern = "Codex" .. name, data = data or {}, modeline = false })
end

-- Redraws statuslines and winbars after a change of state.
function M.redraw()
  vim.cmd.redrawstatus({ bang = true })
end

-- Returns the text for a statusline.
function M.text()
  local pending = require("codex-bridge.requests").count()
  if pending > 0 then
    return S.to_answer:format(pending)
  end
  local state = require("codex-bridge.session").about().state
  return state == "off" and "" or S.state:format(state)
end

-- Returns the policy mode and the thread's sandbox, approval policy and model.
function M.details()
  local about = require("codex-bridge.session").about()
  local parts = {}
  if about.bridge then
    local policy = about.bridge.policy or {}
    parts[#parts + 1] = S.policy_mode:format(policy.mode or "?", policy.gate and S.gate or "")
  elseif about.state ~= "off" then
    parts[#parts + 1] = S.no_bridge
  end
  if about.thread then
    local sandbox, approval = about.thread.sandbox, about.thread.approvalPolicy
    parts[#parts + 1] = type(sandbox) == "table" and sandbox.type or sandbox
    parts[#parts + 1] = type(approval) == "string" and approval or nil
    parts[#parts + 1] = about.thread.model
  end
  return table.concat(parts, " · ")
end

-- Returns the winbar of the chat.
function M.winbar()
  local text, details = M.text(), M.details()
  local bar = " " .. (text == "" and S.name or text) .. (details == "" and "" or " · " .. details)
  return ui.escape(ui.truncate(bar, vim.api.nvim_win_get_width(vim.g.statusline_winid or 0)))
end

return M
