-- Pickers for the model, the effort, the approval policy and the sandbox of the thread. The policy is asked about each
-- choice: one that it does not allow is shown with the reason and can't be chosen. The next turn/start has the choices.
local S = require("codex-bridge.strings")

local M = {}

local display = require("codex-bridge.display")
local granular = require("codex-bridge.granular")

local function fail(text)
  vim.notify(S.error:format(text), vim.log.levels.ERROR)
end

-- Returns the part of a value that the user chooses.
local function essence(value)
  return type(value) == "table" and value.type or value
end

-- Returns why the policy does not allow a choice: { reason, rule, origin }; nil if it does. result: of
-- bridge/policy/explain. The gate replaces "untrusted" for Codex and asks before each command itself. A sandbox may keep
-- its type and lose a part.
local function refusal(result, field)
  if result.mode ~= "enforce" then
    return nil
  elseif result.verdict == "deny" then
    return result.error.data or { reason = result.error.message }
  end
  for _, change in ipairs(result.changes or {}) do
    local keeps_type = type(change.from) == "table" and essence(change.from) == essence(change.to)
    if change.field == "params." .. field and change.rule ~= "policy.gate" and not keeps_type then
      return change
    end
  end
end

-- Asks the policy about each choice, then done(). Without a bridge everything is allowed.
local function judge(field, choices, done)
  local session = require("codex-bridge.session")
  local waiting = #choices
  for _, choice in ipairs(choices) do
    local params = { threadId = session.current().thread.id, input = {}, [field] = choice.value }
    session.bridge_request("bridge/policy/explain", { message = { id = 1, method = "turn/start", params = params } }, function(err, result)
      if not err then
        choice.refusal = refusal(result, field)
      end
      waiting = waiting - 1
      if waiting == 0 then
        done()
      end
    end)
  end
end

local function label(choice, current)
  local text = choice.label .. (choice.about and choice.about ~= "" and ": " .. display.line(choice.about) or "")
  local refused = choice.refusal
  if refused then
    local place = refused.rule and S.rule_place:format(refused.rule, require("codex-bridge.policy").place_text(refused.origin)) or ""
    return S.refused_choice:format(choice.label, display.line(refused.reason or ""), place)
  end
  return choice.label == current and S.current_choice:format(text) or text
end

local function apply(field, choice, title)
  local current = require("codex-bridge.session").current()
  current.settings = vim.tbl_extend("force", current.settings, { [field] = choice.value })
  require("codex-bridge.status").redraw()
  vim.notify(S.chosen:format(title, choice.label), vim.log.levels.INFO)
end

-- Lets the user choose. wanted: the label of a choice, to choose without a picker; chosen() is called after the choice of
-- a picker.
local function choose(field, title, choices, current, wanted, chosen)
  local function pick(choice)
    if choice.refusal then -- a picker shows the reason
      vim.notify(S.is_refused:format(choice.label), vim.log.levels.WARN)
      return false
    end
    apply(field, choice, title)
    return true
  end
  if wanted and wanted ~= "" then
    for _, choice in ipairs(choices) do
      if choice.label == wanted then
        if choice.refusal then
          require("codex-bridge.session").current().chat:notice(label(choice, current))
        end
        return pick(choice)
      end
    end
    return fail(S.no_such_value:format(title, display.line(wanted)))
  end
  vim.ui.select(choices, {
    prompt = title,
    kind = "codex-setting",
    format_item = function(choice)
      return label(choice, current)
    end,
  }, function(choice)
    if choice and not pick(choice) then
      vim.schedule(function()
        choose(field, title, choices, current, nil, chosen)
      end)
    elseif choice and chosen then
      chosen()
    end
  end)
end

-- Opens the picker of a field. list(callback): calls callback with the choices and the current label. See choose.
local function open(field, title, list, wanted, chosen)
  require("codex-bridge.session").current():ensure_thread(function(err)
    if err then
      return fail(err)
    end
    list(function(choices, current)
      judge(field, choices, function()
        choose(field, title, choices, current, wanted, chosen)
      end)
    end)
  end)
end

-- Returns the value of a setting that the next turn will have.
local function next_value(field, name)
  local current = require("codex-bridge.session").current()
  return current.settings[field] or current.thread[name or field]
end

local function models(callback)
  require("codex-bridge.session").request("model/list", {}, function(err, result)
    if err then
      return fail(err.message)
    end
    callback(result.data)
  end)
end

-- Lets the user choose the model, and then its effort.
function M.model(wanted)
  open("model", S.model, function(callback)
    models(function(list)
      local current = next_value("model")
      local choices, is_listed = {}, false
      for _, model in ipairs(list) do
        choices[#choices + 1] = { label = display.line(model.model), value = model.model, about = model.description }
        is_listed = is_listed or model.model == current
      end
      if current and not is_listed then
        table.insert(choices, 1, { label = display.line(current), value = current })
      end
      callback(choices, current)
    end)
  end, wanted, M.effort)
end

-- Lets the user choose the effort, one that the model offers.
function M.effort(wanted)
  open("effort", S.effort, function(callback)
    models(function(list)
      local model, efforts = next_value("model"), {}
      for _, entry in ipairs(list) do
        if entry.model == model then
          efforts = entry.supportedReasoningEfforts
        end
      end
      if #efforts == 0 then
        efforts = vim.tbl_map(function(name)
          return { reasoningEffort = name }
        end, { "low", "medium", "high" })
      end
      callback(vim.tbl_map(function(effort)
        return { label = display.line(effort.reasoningEffort), value = effort.reasoningEffort, about = effort.description }
      end, efforts), next_value("effort"))
    end)
  end, wanted)
end

-- Lets the user choose the kinds of questions that a granular approval policy asks, one after the other.
local function choose_kinds()
  local value = next_value("approvalPolicy")
  local items = vim.tbl_map(function(kind)
    local text = value.granular[kind] == true and S.kind_asked or S.kind_refused
    return { kind = kind, text = text:format(S.kinds[kind]) }
  end, granular.kinds)
  items[#items + 1] = { text = S.all_chosen }
  vim.ui.select(items, {
    prompt = S.granular,
    kind = "codex-setting",
    format_item = function(item)
      return item.text
    end,
  }, function(item)
    if item and item.kind then
      apply("approvalPolicy", { label = "granular", value = granular.toggle(value, item.kind) }, S.approval)
      vim.schedule(choose_kinds)
    end
  end)
end

-- Lets the user choose the approval policy, and then the parts of a granular one.
function M.approval(wanted)
  open("approvalPolicy", S.approval, function(callback)
    local current = next_value("approvalPolicy")
    local parts = granular.is(current) and current or granular.all()
    local choices = vim.tbl_map(function(name)
      return { label = name, value = name, about = S.approvals[name] }
    end, { "untrusted", "on-request", "never" })
    table.insert(choices, 3, { label = "granular", value = parts, about = granular.describe(parts) })
    callback(choices, granular.label(current))
  end, wanted, function()
    if granular.is(next_value("approvalPolicy")) then
      choose_kinds()
    end
  end)
end

local sandboxes = {
  { label = "read-only", value = { type = "readOnly", networkAccess = false } },
  { label = "workspace-write", value = { type = "workspaceWrite", writableRoots = {}, networkAccess = false, excludeTmpdirEnvVar = false, excludeSlashTmp = false } },
  { label = "danger-full-access", value = { type = "dangerFullAccess" } },
}

-- Lets the user choose the sandbox.
function M.sandbox(wanted)
  open("sandboxPolicy", S.sandbox, function(callback)
    local value, current = essence(next_value("sandboxPolicy", "sandbox")), nil
    local choices = vim.tbl_map(function(sandbox)
      current = sandbox.value.type == value and sandbox.label or current
      return { label = sandbox.label, value = vim.deepcopy(sandbox.value), about = S.sandboxes[sandbox.label] }
    end, sandboxes)
    callback(choices, current)
  end, wanted)
end

-- Lets the user choose between the approval policy and the sandbox.
function M.permissions()
  vim.ui.select({ { S.approval, M.approval }, { S.sandbox, M.sandbox } }, {
    prompt = S.permissions,
    kind = "codex-setting",
    format_item = function(item)
      return item[1]
    end,
  }, function(item)
    if item then
      item[2]()
    end
  end)
end

return M
