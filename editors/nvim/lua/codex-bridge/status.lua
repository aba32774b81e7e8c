-- Publishes the state of the plugin: texts for statuslines and winbars, and User autocommands.
local granular = require("codex-bridge.granular")
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

local function session()
  return require("codex-bridge.session")
end

local stop_ticks -- while a turn runs

-- Redraws after a turn has started or ended. While one runs, the shown time advances.
function M.turn_changed()
  local is_working = #vim.tbl_filter(function(conversation)
    return conversation.turn ~= nil
  end, session().all()) > 0
  if is_working and not stop_ticks then
    stop_ticks = require("codex-bridge.requests.card").every_second(M.redraw)
  elseif stop_ticks and not is_working then
    stop_ticks()
    stop_ticks = nil
  end
  M.redraw()
end

-- Returns the text for a statusline.
function M.text()
  local pending = require("codex-bridge.requests").count()
  if pending > 0 then
    return S.to_answer:format(pending)
  end
  local state = session().about().state
  return state == "off" and "" or S.state:format(state)
end

local function sandbox_text(sandbox)
  return type(sandbox) == "table" and sandbox.type or sandbox
end

-- Returns a setting of the thread, or the one that the next turn will have.
local function setting(name, next_name)
  local current = session().current()
  local chosen = current.settings[next_name or name]
  local value = chosen or current.thread and current.thread[name]
  if name == "sandbox" then
    value = sandbox_text(value)
  elseif name == "approvalPolicy" then
    value = granular.label(value)
  end
  return type(value) == "string" and (chosen and S.next_turn:format(value) or value) or ""
end

-- Returns a count of tokens: "950", "12k".
local function tokens_text(count)
  return count < 1000 and tostring(count) or S.thousand:format(math.floor(count / 1000 + 0.5))
end

local components = {
  state = M.text,
  time = function()
    local since = session().current().turn_started_at
    return since and S.countdown(1000 * math.floor((vim.uv.now() - since) / 1000)) or ""
  end,
  policy = function()
    local about = session().about()
    if about.bridge then
      local policy = about.bridge.policy or {}
      return S.policy_mode:format(policy.mode or "?", policy.gate and S.gate or "")
    end
    return about.state ~= "off" and S.no_bridge or ""
  end,
  model = function() return setting("model") end,
  effort = function() return setting("effort") end,
  approval = function() return setting("approvalPolicy") end,
  sandbox = function() return setting("sandbox", "sandboxPolicy") end,
  tokens = function()
    local usage = session().current().usage
    return usage and S.tokens:format(tokens_text(usage.total.totalTokens)) or ""
  end,
  context = function()
    local usage = session().current().usage
    local window = usage and usage.modelContextWindow
    return window and window > 0 and S.context:format(math.min(100, math.floor(100 * usage.last.totalTokens / window + 0.5))) or ""
  end,
  plan = function()
    local current = session().current()
    local plan = current.turn and current.plan and current.plan.turnId == current.turn and current.plan.plan or {}
    local done = #vim.tbl_filter(function(step)
      return step.status == "completed"
    end, plan)
    return #plan > 0 and S.plan_state:format(done, #plan) or ""
  end,
  chat = function()
    local all = session().all()
    for i, conversation in ipairs(all) do
      if conversation == session().current() and #all > 1 then
        return S.chat_of:format(i, #all)
      end
    end
    return ""
  end,
}

-- Returns a part of the state as a text, "" if there is none.
function M.component(name)
  local component = components[name]
  if not component then
    local names = vim.tbl_keys(components)
    table.sort(names)
    error(S.unknown_component:format(tostring(name), table.concat(names, ", ")), 0)
  end
  return component()
end

local function join(names)
  return table.concat(vim.tbl_filter(function(text)
    return text ~= ""
  end, vim.tbl_map(M.component, names)), " · ")
end

-- Returns the policy mode and the thread's sandbox, approval policy, model and effort.
function M.details()
  return join({ "policy", "sandbox", "approval", "model", "effort" })
end

-- Returns the winbar of the chat.
function M.winbar()
  local text, time = M.text(), M.component("time")
  local bar = " " .. (text == "" and S.name or text) .. (time == "" and "" or " " .. time)
  local details = join({ "chat", "policy", "sandbox", "approval", "model", "effort", "tokens" })
  bar = bar .. (details == "" and "" or " · " .. details)
  return ui.escape(ui.truncate(bar, vim.api.nvim_win_get_width(vim.g.statusline_winid or 0)))
end

return M
