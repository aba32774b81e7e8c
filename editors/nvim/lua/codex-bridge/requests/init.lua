-- Shows the requests of the server to the user, one at a time. If the user closes a card or a picker without a choice,
-- the request stays pending and :CodexApprovals shows it again.
local S = require("codex-bridge.strings")
local status = require("codex-bridge.status")

local M = {}

local pending, shown = {}, nil
local changes = {} -- by item id: the content of patches, which their requests lack
local expired = {} -- keys of requests that have expired, see key_of

local show_next

-- The module for each method. It has show(request, done, item), which calls done(answer) and may return a view with
-- is_visible, focus, choose and dismiss, and response(answer, params). is_modal: it uses only vim.ui, without a card.
local modules = {
  ["item/commandExecution/requestApproval"] = "command_execution",
  ["item/fileChange/requestApproval"] = "file_change",
  ["item/permissions/requestApproval"] = "permissions",
  ["item/tool/requestUserInput"] = "user_input",
  ["mcpServer/elicitation/request"] = "elicitation",
}

-- Returns what the request and the bridge's notification about it have in common.
local function key_of(method, params)
  return table.concat({ method, params.threadId or "", params.itemId or "" }, "\0")
end

-- Returns a line that names the request.
local function summary(request)
  local p = request.params
  local change = changes[p.itemId]
  local files = change and table.concat(vim.tbl_map(function(one)
    return require("codex-bridge.display").path(require("codex-bridge.ui").short_path(one.path))
  end, change.changes), ", ")
  local question = type(p.questions) == "table" and p.questions[1] and p.questions[1].question
  return p.command == nil and files or require("codex-bridge.display").value(p.command or p.message or question or p.reason or request.method)
end

local function remove(request)
  request.resolved = true
  pending = vim.tbl_filter(function(other)
    return other ~= request
  end, pending)
  if request.stop_timer then
    request.stop_timer()
  end
end

local function finish(request, answer)
  if shown == request then
    shown = nil
  end
  request.view = nil
  vim.cmd.redraw() -- removes the list of inputlist(), so that the next message needs no Enter
  if request.resolved then
    return show_next() -- cancelled before the answer
  end
  if answer == nil then
    request.is_postponed = true
    vim.notify(S.waits_for_answer, vim.log.levels.WARN)
    return
  end
  remove(request)
  status.redraw()
  status.emit("ServerRequestResolved", { method = request.method, params = request.params, answer = answer, pending = #pending })
  request.resume(answer)
  show_next()
end

show_next = vim.schedule_wrap(function()
  local request = pending[1]
  if shown or not request or request.is_postponed then
    return
  end
  -- While the command-line window is open, Neovim opens no other one.
  if vim.fn.getcmdwintype() ~= "" then
    return vim.defer_fn(show_next, 200)
  end
  -- Keys that the user types into a text must not answer a picker. A card takes no such keys.
  if request.module.is_modal and vim.api.nvim_get_mode().mode ~= "n" then
    vim.api.nvim_create_autocmd("ModeChanged", { pattern = "*:n", once = true, callback = show_next })
    return
  end
  shown = request
  local finished = false
  local view = request.module.show(request, function(answer)
    if not finished then
      finished = true
      finish(request, answer)
    end
  end, changes[request.params.itemId])
  if not finished then
    request.view = view
  end
  if not request.is_announced and not require("codex-bridge.view").chat_window() then
    vim.notify(S.asks_you:format(S.name, summary(request)), vim.log.levels.WARN)
  end
  request.is_announced = true
end)

-- The bridge has declined a request in the user's place.
local function expire(request)
  remove(request)
  expired[key_of(request.method, request.params)] = true
  if request.view then
    request.view:dismiss()
    request.view = nil
  end
  if shown == request then
    shown = nil
  end
  local what = summary(request)
  require("codex-bridge.session").chat_of(request.params.threadId):card(S.expired, "DiagnosticWarn", { { S.what, what } }, "", nil)
  if not require("codex-bridge.view").chat_window() then
    vim.notify(S.error:format(S.expired .. ": " .. what), vim.log.levels.WARN)
  end
  status.redraw()
  status.emit("ServerRequestExpired", { method = request.method, params = request.params, pending = #pending })
  show_next()
end

-- Handles the bridge's notification that a request has expired; returns false if the user has answered it, too late.
function M.bridge_expired(p)
  local key = key_of(p.method, p)
  for _, request in ipairs(pending) do
    if key_of(request.method, request.params) == key then
      expire(request)
      return true
    end
  end
  local known = expired[key] == true
  expired[key] = nil
  return known
end

-- Yields the coroutine of the request until the user answers.
local function wait_for_answer(method, params, module)
  local current = coroutine.running()
  local request = {
    method = method,
    params = params,
    module = module,
    resume = function(answer)
      coroutine.resume(current, answer)
    end,
  }
  local left = params.bridge and params.bridge.expiresInMs
  if left then
    request.expires_at = vim.uv.now() + left
    local timer = assert(vim.uv.new_timer())
    request.stop_timer = function()
      if not timer:is_closing() then
        timer:close()
      end
    end
    timer:start(math.ceil(left), 0, vim.schedule_wrap(function()
      if not request.resolved then
        expire(request)
      end
    end))
  end
  expired[key_of(method, params)] = nil
  pending[#pending + 1] = request
  status.redraw()
  status.emit("ServerRequest", { method = method, params = params, pending = #pending })
  show_next()
  return coroutine.yield()
end

-- Handles a request of the server; returns result, error. It rejects unknown methods.
function M.handle(method, params)
  if method == "item/tool/call" then
    return require("codex-bridge.tools").call(params)
  end
  local name = modules[method]
  if not name then
    return nil, { code = -32601, message = S.unsupported_request:format(method) }
  end
  local answered_by = params.bridge and params.bridge.answeredBy
  if answered_by then
    local title = S.waits_elsewhere:format(require("codex-bridge.display").line(answered_by))
    local what = summary({ method = method, params = params })
    require("codex-bridge.session").chat_of(params.threadId):card(title, "DiagnosticInfo", { { S.what, what } }, "", nil)
    return coroutine.yield() -- for ever: the other client's answer ends the request
  end
  local module = require("codex-bridge.requests." .. name)
  return module.response(wait_for_answer(method, params, module), params)
end

-- Keeps the content of a patch until its turn completes.
function M.item_started(item, turn)
  if item.type == "fileChange" then
    changes[item.id] = { changes = item.changes, turn = turn }
  end
end

-- Cancels the requests of a turn or an item (kind "turn" or "item"), or all requests without arguments.
function M.cancel(kind, id)
  if kind and not id then
    return
  end
  local key = kind and kind .. "Id"
  local before = #pending
  for _, request in ipairs(vim.list_slice(pending)) do
    if not key or request.params[key] == id then
      remove(request)
      if request.view then
        request.view:dismiss()
        request.view = nil
      end
      if shown == request then
        shown = nil
      end
    end
  end
  if #pending ~= before then
    status.redraw()
    show_next()
  end
  for item, change in pairs(changes) do
    if not kind or (kind == "turn" and change.turn == id) or (kind == "item" and item == id) then
      changes[item] = nil
    end
  end
end

-- Returns the number of pending requests, of one thread if an id is given.
function M.count(thread)
  return #vim.tbl_filter(function(request)
    return not thread or request.params.threadId == thread
  end, pending)
end

-- Moves the cursor to the card of the first pending request, and shows it again if the user has closed it.
function M.show()
  if #pending == 0 then
    return vim.notify(S.no_pending_request, vim.log.levels.INFO)
  end
  if shown and shown.view then
    return shown.view:focus()
  end
  shown = nil
  pending[1].is_postponed = nil
  show_next()
  vim.schedule(function()
    if shown and shown.view then
      shown.view:focus()
    end
  end)
end

-- Answers the request that is on the screen. One that the user has not seen is shown instead.
function M.answer(name)
  if #pending == 0 then
    return vim.notify(S.no_pending_request, vim.log.levels.INFO)
  elseif not (shown and shown.view and shown.view:is_visible()) then
    vim.notify(S.not_shown, vim.log.levels.WARN)
    return M.show()
  elseif not shown.view:choose(name) then
    vim.notify(S.no_such_choice, vim.log.levels.WARN)
  end
end

return M
