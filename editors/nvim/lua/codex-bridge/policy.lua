-- Decisions of the policy: the cards of refusals and changes, the file of a rule, and the dry run of a command.
local chat = require("codex-bridge.chat")
local config = require("codex-bridge.config")
local file_window = require("codex-bridge.file_window")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local MAX_CHANGES = 4

-- By chat: seen, the changes that it shows already, since the same change comes with each turn; opening, the cards since a
-- thread was left, since the chat may be cleared when the next one opens; is_open.
local states = setmetatable({}, { __mode = "k" })

local function state_of(of)
  states[of] = states[of] or { seen = {}, opening = {}, is_open = false }
  return states[of]
end

local function shown(text)
  return require("codex-bridge.display").line(tostring(text))
end

-- Splits an origin into the file and the line; nil without a file. An origin is "LAYER FILE:LINE", for a default
-- "default; the policy is enabled by LAYER FILE:LINE", or "FILE:LINE".
function M.place(origin)
  local place = (origin or ""):gsub("^default; the policy is enabled by ", "")
  local file, line = place:match("^%a+ (.+):(%d+)$")
  if not file then
    file, line = place:match("^(.+):(%d+)$")
  end
  return file, tonumber(line)
end

-- Returns an origin for people: "~/config.toml:8".
function M.place_text(origin)
  local file, line = M.place(origin)
  local text = file and shown(("%s:%d"):format(ui.short_path(file), line)) or origin and shown(origin) or S.default_place
  return file and vim.startswith(origin, "default;") and S.default_enabled:format(text) or text
end

-- Opens a file at a line, in the window of the user's files.
function M.open_place(origin)
  local file, line = M.place(origin)
  if not file then
    return vim.notify(S.no_place, vim.log.levels.INFO)
  elseif vim.fn.filereadable(file) ~= 1 then
    return vim.notify(S.unreadable:format(file), vim.log.levels.WARN)
  end
  file_window.open(file, line)
end

local function actions(has_place)
  local keys = config.current.keys
  local parts = {}
  if has_place then
    parts[1] = S.key_line:format(keys.open_policy or ":CodexOpenPolicy", S.open_policy)
  end
  parts[#parts + 1] = S.key_line:format(keys.explain or ":CodexExplain", S.explain)
  return table.concat(parts, " · ")
end

-- Returns the rows of a decision: Why, Rule and Where.
local function why_rows(decision)
  local rows = { { S.why, shown(decision.reason or "") } }
  if decision.rule then
    rows[2] = { S.rule, shown(decision.rule) }
    rows[3] = { S.where, M.place_text(decision.origin) }
  end
  return rows
end

local function show(card, to)
  local rows = vim.list_slice(card.rows, 1, card.limit or #card.rows)
  if card.more then
    rows[#rows + 1] = { "", card.more }
  end
  to:card(card.title, card.highlight, rows, actions(M.place(card.origin) ~= nil), card)
end

local function value(json)
  local display = require("codex-bridge.display")
  return type(json) == "string" and display.value(json) or display.json(json)
end

local function change_text(change)
  local field = shown(change.field:gsub("^params%.", ""))
  if change.to == nil then
    return S.removed:format(field, value(change.from))
  end
  return S.replaced:format(field, change.from == nil and S.absent or value(change.from), value(change.to))
end

-- Reports whether a change removes or lowers a value that the client sent, or gives the thread less than Codex's
-- configuration says. Other changes add a missing value, mark a reason, or turn an answer that the bridge remembers into a
-- plain "accept" for Codex.
local function takes(change)
  if change.narrows then
    return true
  end
  if change.from == nil or change.field == "params.reason" or vim.startswith(change.field, "result") then
    return false
  end
  return change.rule ~= "policy.writable_roots" or change.to == nil or vim.startswith(change.field, "params.sandboxPolicy")
end

local function changed_card(p, seen)
  local fresh = vim.tbl_filter(function(change)
    local key = table.concat({ change.rule, change.field, vim.json.encode(change.to == nil and vim.NIL or change.to) }, "\0")
    local is_new = takes(change) and not seen[key]
    seen[key] = seen[key] or is_new
    return is_new
  end, p.changes or {})
  if #fresh == 0 then
    return nil
  end
  local card = { title = S.changed, highlight = "DiagnosticWarn", method = p.method, rows = {}, origin = fresh[1].origin }
  for i, change in ipairs(fresh) do
    card.rows[#card.rows + 1] = { S.what, change_text(change) }
    vim.list_extend(card.rows, why_rows(change))
    if i == MAX_CHANGES then
      card.limit = #card.rows
    end
  end
  if #fresh > MAX_CHANGES then
    card.more = S.and_more:format(#fresh - MAX_CHANGES)
  end
  return card
end

local function refused_card(p)
  local refusal = p.error
  local what = p.what or refusal.field and ("%s: %s"):format(p.method, refusal.field) or p.method
  local card = {
    title = S.refused, highlight = "DiagnosticError", method = p.method, origin = refusal.origin,
    rows = vim.list_extend({ { S.what, require("codex-bridge.display").visible(what) } }, why_rows(refusal)),
  }
  if refusal.rule == "approvals.timeout" then
    card.title, card.highlight = S.expired, "DiagnosticWarn"
  end
  if refusal.hint then
    card.limit = #card.rows
    card.rows[#card.rows + 1] = { S.hint, shown(refusal.hint) }
  end
  return card
end

-- Handles bridge/policy/applied, for the chat of its thread.
function M.applied(p, to)
  to = to or chat.current()
  local state, card = state_of(to), nil
  if p.error then
    if p.error.rule == "approvals.timeout" and require("codex-bridge.requests").bridge_expired(p) then
      return
    end
    card = refused_card(p)
  elseif p.verdict == "rewrite" then
    card = changed_card(p, state.seen)
  elseif p.verdict == "accept" and p.changes and p.changes[1] and p.changes[1].rule == "approvals.remember" then
    to:notice(S.remembered:format(p.changes[1].reason))
  end
  if card then
    if not state.is_open then
      state.opening[#state.opening + 1] = card
    end
    show(card, to)
  end
end

-- A thread is being left: its changes are new in the next one.
function M.thread_left(of)
  states[of] = nil
end

-- The chat was cleared to show a thread: shows the cards of its opening again.
function M.thread_shown(of)
  for _, card in ipairs(state_of(of).opening) do
    show(card, of)
  end
end

-- The thread is open.
function M.thread_opened(of)
  local state = state_of(of)
  state.opening, state.is_open = {}, true
end

-- Opens the policy of the card under the cursor, else of the last card.
function M.open()
  local card = chat.card_under_cursor()
  if not card then
    return vim.notify(S.no_card, vim.log.levels.INFO)
  end
  M.open_place(card.origin)
end

-- Shows all of the card under the cursor, else of the last card.
function M.explain()
  local card = chat.card_under_cursor()
  if not card then
    return vim.notify(S.no_card, vim.log.levels.INFO)
  end
  require("codex-bridge.report").show("codex://explain", vim.list_extend({ { card.title, card.method or "" } }, card.rows), card.origin)
end

local would = { deny = "DiagnosticError", ask = "DiagnosticWarn", allow = "DiagnosticOk" }

local function show_try(command)
  local session = require("codex-bridge.session")
  local thread = session.about().thread
  local params = { command = command, cwd = vim.fn.getcwd(), threadId = thread and thread.id }
  session.bridge_request("bridge/policy/explain", params, function(err, result)
    if err or not result.decision then
      local is_old = err and err.code == -32602 or result and not result.decision
      return vim.notify(S.error:format(is_old and S.no_explain or err.message), vim.log.levels.ERROR)
    end
    require("codex-bridge.view").show()
    chat.follow()
    show({
      title = S.would[result.decision], highlight = would[result.decision], origin = result.origin, method = S.try,
      rows = vim.list_extend({ { S.what, require("codex-bridge.display").visible(command) } }, why_rows(result)),
    }, chat.current())
  end)
end

-- Shows what the policy would say to a shell command; nothing runs.
function M.try(command)
  if command and command ~= "" then
    return show_try(command)
  end
  vim.ui.input({ prompt = S.try_prompt, completion = "shellcmd" }, function(text)
    if text and text ~= "" then
      show_try(text)
    end
  end)
end

return M
