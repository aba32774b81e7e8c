-- Parts that all cards share: their expiry, and the choices that the bridge keeps.
local S = require("codex-bridge.strings")

local M = {}

-- Returns the choice that is kept for a span, in the words of approvals.remember; nil if the bridge does not keep it.
-- hint: the member "bridge" of the request.
function M.kept(hint, span, value)
  if not vim.tbl_contains(hint.remember or {}, span) then
    return nil
  end
  local text = span == "session" and S.accept_session or S.accept_always
  return { name = "accept_" .. span, label = text:format(S.duration(hint.rememberMs or 0)), value = value }
end

-- Shows the card of a request.
function M.show(options, request, done)
  options.expires_at = request.expires_at
  local session = require("codex-bridge.session")
  local conversation = session.of_thread(request.params.threadId)
  if conversation and conversation ~= session.current() then
    options.rows[#options.rows + 1] = { S.chat, conversation:title() }
  end
  return require("codex-bridge.requests.card").show(options, done)
end

return M
