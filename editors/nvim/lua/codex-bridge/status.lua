-- Short texts for statuslines and for the bar above the chat.
local M = {}

function M.text()
  local asked = require("codex-bridge.ask").count()
  if asked > 0 then
    return ("codex: %d to answer"):format(asked)
  end
  local state = require("codex-bridge.session").about().state
  return state == "off" and "" or "codex: " .. state
end

-- What is in force: whether a policy holds the thread, its sandbox, approvals and model.
function M.details()
  local about = require("codex-bridge.session").about()
  local parts = {}
  if about.bridge then
    local policy = about.bridge.policy or {}
    parts[#parts + 1] = "policy " .. (policy.mode or "?") .. (policy.gate and ", gate" or "")
  elseif about.state ~= "off" then
    parts[#parts + 1] = "no bridge"
  end
  if about.thread then
    local sandbox, approval = about.thread.sandbox, about.thread.approvalPolicy
    parts[#parts + 1] = type(sandbox) == "table" and sandbox.type or sandbox
    parts[#parts + 1] = type(approval) == "string" and approval or nil
    parts[#parts + 1] = about.thread.model
  end
  return table.concat(parts, " · ")
end

-- The bar above the chat. What does not fit is cut off at the end.
function M.winbar()
  local text, details = M.text(), M.details()
  local bar = " " .. (text == "" and "codex" or text) .. (details == "" and "" or " · " .. details)
  local width = vim.api.nvim_win_get_width(vim.g.statusline_winid or 0)
  if vim.fn.strdisplaywidth(bar) > width then
    bar = vim.fn.strcharpart(bar, 0, width - 1) .. "…"
  end
  return (bar:gsub("%%", "%%%%"))
end

return M
