-- The thread of the chat, and its turn. Messages are sent one after the other, so that the second of two messages
-- steers the turn that the first one starts.
local chat = require("codex-bridge.chat")
local config = require("codex-bridge.config")
local items = require("codex-bridge.items")
local policy = require("codex-bridge.policy")
local requests = require("codex-bridge.requests")
local S = require("codex-bridge.strings")
local status = require("codex-bridge.status")

local M = {}

local connection -- nil while no process runs
local connect_callbacks -- called when the connection is open; nil if it is not being opened
local thread -- { id, path, model, sandbox, approvalPolicy }
local loaded_on -- the connection on which the thread is loaded
local turn -- the id of the running turn
local is_interruptible -- whether Codex sent turn/started; a turn can't be interrupted before
local last_turn -- the id of the last completed turn
local stop_requested -- the user stopped a turn that is not interruptible yet
local queue, sending = {}, false
local abandoned = {} -- ids of threads that the user left before turn/started; their turn is then interrupted

local warned = {} -- Codex repeats its warnings at each start; the chat shows each once

local function warn(text)
  if not warned[text] then
    warned[text] = true
    chat.notice(text)
  end
end

local function set_turn(id)
  turn, is_interruptible = id, is_interruptible and id ~= nil
  status.redraw()
end

local function interrupt()
  connection:request("turn/interrupt", { threadId = thread.id, turnId = turn }, function(err)
    if err then
      chat.notice(S.not_stopped:format(err.message))
    end
  end)
end

local function turn_started(id)
  if turn == id or last_turn == id then
    return -- the turn may complete before the response to turn/start arrives
  end
  set_turn(id)
  status.emit("TurnStarted", { threadId = thread.id, turnId = id })
end

-- Notifications of the current thread.
local thread_notifications = {
  ["turn/started"] = function(p)
    turn_started(p.turn.id)
    is_interruptible = true
    if stop_requested then
      stop_requested = nil
      interrupt()
    end
  end,
  ["turn/completed"] = function(p)
    last_turn, stop_requested = p.turn.id, nil
    chat.flush()
    -- A command may run on after its turn; an interrupt or a failure ends it, without an item/completed.
    if p.turn.status ~= "completed" then
      chat.finish_all(S.stopped_item, "DiagnosticWarn")
    end
    if p.turn.error then
      chat.notice(p.turn.error.message)
    elseif p.turn.status == "interrupted" then
      chat.notice(S.stopped)
    end
    require("codex-bridge.reload").all()
    set_turn(nil)
    status.emit("TurnCompleted", { threadId = p.threadId, turnId = p.turn.id, status = p.turn.status })
  end,
  ["item/started"] = function(p)
    items.started(p.item)
  end,
  ["item/completed"] = function(p)
    items.completed(p.item)
    status.emit("Item", { threadId = p.threadId, turnId = p.turnId, item = p.item })
  end,
  ["item/agentMessage/delta"] = function(p)
    chat.append(p.itemId, p.delta)
  end,
  ["item/commandExecution/outputDelta"] = function(p)
    chat.append(p.itemId, p.delta)
  end,
  ["thread/settings/updated"] = function(p)
    local settings = p.threadSettings
    thread.model, thread.approvalPolicy, thread.sandbox = settings.model, settings.approvalPolicy, settings.sandboxPolicy
    status.redraw()
  end,
  ["error"] = function(p)
    if p.willRetry then
      chat.notice(p.error.message)
    end
  end,
}

-- Ends the notifications of a thread that the user has left, so that Codex can unload it with its MCP servers.
local function unsubscribe(id)
  connection:request("thread/unsubscribe", { threadId = id })
end

local function notification(method, p)
  if method == "item/started" then
    requests.item_started(p.item, p.turnId) -- of every thread, because subagents send requests too
  elseif method == "item/completed" then
    requests.cancel("item", p.item.id)
    require("codex-bridge.reload").after_item(p.item)
  elseif method == "turn/started" and abandoned[p.threadId] then
    connection:request("turn/interrupt", { threadId = p.threadId, turnId = p.turn.id })
    unsubscribe(p.threadId)
  elseif method == "turn/completed" then
    abandoned[p.threadId] = nil
    requests.cancel("turn", p.turn.id)
  elseif method == "configWarning" then
    warn(p.summary .. (p.details and "\n" .. p.details or ""))
  elseif method == "warning" and (not p.threadId or thread and p.threadId == thread.id) then
    warn(p.message)
  elseif method == "bridge/policy/applied" then
    status.emit("Policy", p)
    policy.applied(p)
  elseif method:find("^bridge/") then
    status.emit("Bridge", { method = method, params = p })
  end
  if thread_notifications[method] and thread and p.threadId == thread.id then
    thread_notifications[method](p)
  end
end

local function on_exit(code, signal)
  connection, loaded_on, stop_requested = nil, nil, nil
  requests.cancel()
  chat.flush()
  chat.finish_all(S.stopped_item, "DiagnosticWarn")
  chat.notice(S.exited:format(code, signal))
  set_turn(nil)
  status.emit("Exited", { code = code, signal = signal })
end

local handlers = {
  notification = notification,
  server_request = requests.handle,
  on_error = function(text)
    vim.notify(S.error:format(text), vim.log.levels.ERROR)
  end,
  on_exit = on_exit,
}

-- Opens the connection if necessary; callback(err).
local function ensure_connection(callback)
  if connection then
    return callback(nil)
  end
  connect_callbacks = connect_callbacks or {}
  connect_callbacks[#connect_callbacks + 1] = callback
  if #connect_callbacks > 1 then
    return
  end
  local function done(err)
    local callbacks = connect_callbacks
    connect_callbacks = nil
    for _, each in ipairs(callbacks) do
      each(err)
    end
  end
  require("codex-bridge.connection").open(handlers, function(err, opened)
    if err then
      return require("codex-bridge.health").explain(err, done)
    end
    connection = opened
    require("codex-bridge.tools").register(connection, function(failed)
      if failed then
        chat.notice(S.no_editor_tools:format(failed))
      end
      done(nil)
    end)
  end)
end

local function set_thread(result)
  loaded_on, turn = connection, nil
  thread = { id = result.thread.id, path = result.thread.path }
  for _, name in ipairs({ "model", "sandbox", "approvalPolicy" }) do
    thread[name] = result[name]
  end
  status.redraw()
  status.emit("Thread", { threadId = thread.id, resumed = #(result.thread.turns or {}) > 0 })
end

-- Shows the past turns of a thread, and continues with a running one.
local function show_turns(turns)
  chat.clear()
  policy.thread_shown()
  for _, past in ipairs(turns or {}) do
    for _, item in ipairs(past.items) do
      items.completed(item)
    end
    if past.status == "inProgress" then
      set_turn(past.id)
      is_interruptible = true
    end
  end
end

local function start(callback)
  local params = vim.tbl_extend("keep", vim.deepcopy(config.current.thread), { cwd = vim.fn.getcwd() })
  if not connection:supports("bridge/tool/register") then
    params.dynamicTools = require("codex-bridge.tools").dynamic_tools()
  end
  if config.current.session ~= "" and connection:supports("bridge/binding/clear") then
    params.bridge = { sessionKey = config.current.session }
  end
  connection:request("thread/start", params, function(err, result)
    if err then
      return callback(err.message)
    end
    set_thread(result)
    if result.bridge and result.bridge.action == "resumed" then
      show_turns(result.thread.turns)
    end
    policy.thread_opened()
    callback(nil)
  end)
end

-- Resumes a thread. After a crash, the previous Codex may still hold the thread. The bridge stops it within two
-- seconds, so resume retries.
local function resume(id, callback, tries)
  connection:request("thread/resume", { threadId = id }, function(err, result)
    local busy = err and ((err.message or ""):find("active writer", 1, true) or err.code == -32015)
    if busy and tries > 0 and connection then
      vim.defer_fn(function()
        if not connection then
          return callback(err.message)
        end
        resume(id, callback, tries - 1)
      end, 250)
    elseif err then
      callback(err.message)
    else
      abandoned[id] = nil
      set_thread(result)
      callback(nil, result)
    end
  end)
end

-- Starts or resumes the thread if necessary; callback(err).
local function ensure_thread(callback)
  ensure_connection(function(err)
    if err or (thread and loaded_on == connection) then
      return callback(err)
    end
    if not thread then
      return start(callback)
    end
    resume(thread.id, function(failed)
      if failed and failed:find("no rollout found", 1, true) then
        return start(callback) -- Codex saves a thread with its first turn
      end
      callback(failed)
    end, 20)
  end)
end

local function start_turn(input, callback)
  local id = thread.id
  connection:request("turn/start", { threadId = id, input = input }, function(err, result)
    if not err and thread and thread.id == id then
      turn_started(result.turn.id)
    end
    callback(err and err.message)
  end)
end

local function start_or_steer(input, callback)
  ensure_thread(function(err)
    if err then
      return callback(err)
    end
    if not turn then
      return start_turn(input, callback)
    end
    connection:request("turn/steer", { threadId = thread.id, input = input, expectedTurnId = turn }, function(failed)
      if not failed then
        return callback(nil)
      end
      -- The turn has usually completed in the meantime, so the message starts the next one.
      if not (connection and thread) then
        return callback(failed.message)
      end
      start_turn(input, callback)
    end)
  end)
end

local function send_next()
  local message = queue[1]
  if sending or not message then
    return
  end
  sending = true
  start_or_steer(message.input, function(err)
    table.remove(queue, 1)
    sending = false
    status.redraw()
    if err then
      chat.notice(S.not_sent:format(err))
    end
    message.callback(err)
    send_next()
  end)
end

-- Sends a message, see the Lua API.
function M.send(text, options, callback)
  local input = { { type = "text", text = text } }
  for _, path in ipairs(options.images or {}) do
    input[#input + 1] = { type = "localImage", path = vim.fn.fnamemodify(path, ":p") }
  end
  chat.follow()
  queue[#queue + 1] = { input = input, callback = callback }
  send_next()
end

-- Interrupts the turn, or the one that is about to start.
function M.stop()
  if connection and turn and is_interruptible then
    interrupt()
  elseif turn or sending then
    stop_requested = true
  end
end

-- Leaves the thread, and cancels its requests and queued messages.
local function leave()
  M.stop()
  requests.cancel("turn", turn)
  if thread and stop_requested then
    abandoned[thread.id] = true
  elseif thread and connection and loaded_on == connection then
    unsubscribe(thread.id)
  end
  policy.thread_left()
  for i = #queue, sending and 2 or 1, -1 do
    table.remove(queue, i).callback(S.left_thread)
  end
  thread, loaded_on, stop_requested = nil, nil, nil
  set_turn(nil)
  chat.clear()
end

-- Leaves the thread and its session.
function M.new()
  leave()
  if connection and config.current.session ~= "" and connection:supports("bridge/binding/clear") then
    connection:request("bridge/binding/clear", { sessionKey = config.current.session })
  end
end

-- Leaves the thread and resumes another one; callback(err).
function M.resume(id, callback)
  ensure_connection(function(err)
    if err then
      chat.notice(err)
      return callback(err)
    end
    leave()
    resume(id, function(failed, result)
      if failed then
        chat.notice(failed)
      else
        show_turns(result.thread.turns)
        policy.thread_opened()
      end
      callback(failed)
    end, 0)
  end)
end

-- Lists the threads of the current directory, the latest first; callback(err, list).
function M.threads(callback)
  ensure_connection(function(err)
    if err then
      return callback(err)
    end
    connection:request("thread/list", { cwd = vim.fn.getcwd(), limit = 50, sortKey = "updated_at" }, function(failed, result)
      callback(failed and failed.message, result and result.data)
    end)
  end)
end

-- Sends any request to Codex or the bridge; callback(err, result).
function M.request(method, params, callback)
  ensure_connection(function(err)
    if err then
      return callback({ code = -32011, message = err })
    end
    connection:request(method, params, callback)
  end)
end

-- Sends a request to the bridge; callback(err, result). Without a bridge it fails.
function M.bridge_request(method, params, callback)
  ensure_connection(function(err)
    if err then
      return callback({ code = -32011, message = err })
    elseif not connection:supports(method) then
      return callback({ code = -32601, message = S.needs_bridge })
    end
    connection:request(method, params, callback)
  end)
end

-- Returns state ("off", "idle", "working"), thread, turn, bridge and agent.
function M.about()
  return {
    state = (turn or sending) and "working" or connection and "idle" or "off",
    thread = vim.deepcopy(thread),
    turn = turn,
    bridge = connection and vim.deepcopy(connection.bridge),
    agent = connection and connection.agent,
  }
end

-- Stops the process.
function M.close()
  if connection then
    connection:close()
  end
end

return M
