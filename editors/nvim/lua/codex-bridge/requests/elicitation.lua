-- mcpServer/elicitation/request: an MCP server wants consent to a call, the fields of a form, or a visit to a URL.
local choices = require("codex-bridge.requests.choices")
local describe = require("codex-bridge.requests.describe")
local display = require("codex-bridge.display")
local S = require("codex-bridge.strings")

local M = {}

-- Reports whether a question is about the call of a tool. Under a policy the bridge removes the mark from a question that a
-- server asks by itself. Without one a server can write it.
local function is_about_tool(p)
  return type(p._meta) == "table" and p._meta.codex_approval_kind == "mcp_tool_call"
end

-- Returns the title of another question. The bridge asks under its name, and without a turn. A server can have that name,
-- and Codex adds the turn to its question.
local function asks(p)
  return p.serverName == "codex-bridge" and p.turnId and S.server_asks or S.asks_server
end

-- Returns the choices that keep the consent to a tool.
local function kept_choices(p)
  local all = {}
  local meta = type(p._meta) == "table" and p._meta or {}
  local persist = type(meta.persist) == "table" and meta.persist or { meta.persist }
  for _, span in ipairs({ "session", "always" }) do
    local value = { action = "accept", persist = span }
    if p.bridge then
      all[#all + 1] = choices.kept(p.bridge, span, value)
    elseif span == "session" and vim.tbl_contains(persist, span) then
      all[#all + 1] = { name = "accept_session", label = S.accept_codex_session, value = value }
    end
  end
  return all
end

-- Returns the options of the card.
function M.card(p)
  local message, meta = p.message or p.title or "", type(p._meta) == "table" and p._meta or {}
  local is_tool, is_checked = is_about_tool(p), is_about_tool(p) and p.bridge ~= nil
  local text, leaves
  if is_checked then
    text, leaves = describe.tool_question(message)
  end
  local rows = { { S.what, text or display.visible(message) } }
  if is_tool and meta.tool_name then
    rows[2] = { S.tool, ("%s %s"):format(display.value(meta.tool_name), display.json(meta.tool_params or meta.tool_params_display or vim.empty_dict())) }
  end
  if leaves then
    rows[#rows + 1] = { S.leaves, leaves }
  end
  if is_tool and not is_checked then
    rows[#rows + 1] = { S.note, S.asker_unknown }
  end
  local accept = { name = "accept", label = p.mode == "url" and S.open_url or S.accept, value = { action = "accept" } }
  if p.mode == "url" then
    rows[#rows + 1] = { S.url, display.value(p.url) }
  end
  local all = vim.list_extend({ accept }, is_tool and kept_choices(p) or {})
  all[#all + 1] = { name = "decline", label = S.decline, value = { action = "decline" } }
  return {
    title = leaves and S.leaves_sandbox or (is_checked and S.asks_tool or asks(p)):format(display.value(p.serverName)), highlight = leaves and "DiagnosticWarn" or nil,
    rows = rows, choices = all,
  }
end

function M.show(request, done)
  local p = request.params
  if p.mode ~= "form" and p.mode ~= "url" then
    done({ action = "decline" }) -- an unknown mode
    return nil
  end
  return choices.show(M.card(p), request, function(answer)
    if answer == nil or answer.action ~= "accept" then
      return done(answer)
    elseif p.mode == "url" then
      vim.ui.open(p.url)
      return done(answer)
    end
    local schema = p.requestedSchema or {}
    if not next(schema.properties or {}) then
      return done(answer)
    end
    request.draft = request.draft or {} -- survives if the user postpones the form
    require("codex-bridge.requests.form").ask(schema, request.draft, function(content)
      done(content and { action = "accept", content = content })
    end)
  end)
end

function M.response(answer)
  local content = answer.content
  if answer.action == "accept" and not content then
    content = vim.empty_dict()
  end
  return { action = answer.action, content = content, _meta = answer.persist and { persist = answer.persist } or nil }
end

return M
