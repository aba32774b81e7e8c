-- The connection, and the conversations that share it. One of them is current: the chat on the screen, to which the prompt
-- sends.
local changes = require("codex-bridge.changes")
local chats = require("codex-bridge.chat")
local config = require("codex-bridge.config")
local conversations = require("codex-bridge.conversation")
local policy = require("codex-bridge.policy")
local requests = require("codex-bridge.requests")
local S = require("codex-bridge.strings")
local status = require("codex-bridge.status")

local M = {}

local host = { abandoned = {} } -- see conversation.lua; first and current are conversations
local all = {}
local connect_callbacks -- called when the connection is open; nil if it is not being opened
local warned = {} -- Codex repeats its warnings at each start; the chat shows each once

local function add()
  local conversation = conversations.new(host)
  all[#all + 1] = conversation
  return conversation
end

local function use(conversation)
  host.current = conversation
  chats.use(conversation.chat)
end

host.first = add()
use(host.first)

-- Returns the conversation of a thread, or nil.
function M.of_thread(id)
  for _, conversation in ipairs(all) do
    if id and conversation.thread and conversation.thread.id == id then
      return conversation
    end
  end
end

-- Returns the chat of a thread, else the current one.
function M.chat_of(id)
  return (M.of_thread(id) or host.current).chat
end

local function warn(text, thread_id)
  if not warned[text] then
    warned[text] = true
    M.chat_of(thread_id):notice(text)
  end
end

local function notification(method, p)
  if method == "item/started" then
    requests.item_started(p.item, p.turnId) -- of every thread, because subagents send requests too
  elseif method == "item/completed" then
    requests.cancel("item", p.item.id)
    require("codex-bridge.reload").after_item(p.item)
  elseif method == "turn/started" and host.abandoned[p.threadId] then
    host.connection:request("turn/interrupt", { threadId = p.threadId, turnId = p.turn.id })
    host.connection:request("thread/unsubscribe", { threadId = p.threadId })
  elseif method == "turn/completed" then
    host.abandoned[p.threadId] = nil
    changes.completed(p.threadId, p.turn.id)
    requests.cancel("turn", p.turn.id)
  elseif method == "configWarning" then
    warn(p.summary .. (p.details and "\n" .. p.details or ""))
  elseif method == "warning" and (not p.threadId or M.of_thread(p.threadId)) then
    warn(p.message, p.threadId)
  elseif method == "bridge/policy/applied" then
    status.emit("Policy", p)
    policy.applied(p, M.chat_of(p.threadId))
  elseif method:find("^bridge/") then
    status.emit("Bridge", { method = method, params = p })
  end
  local conversation = type(p) == "table" and M.of_thread(p.threadId)
  if conversation then
    conversation:notification(method, p)
  end
end

local function on_exit(code, signal)
  host.connection = nil
  requests.cancel()
  for _, conversation in ipairs(all) do
    conversation:exited(code, signal)
  end
  changes.exited()
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
function host.ensure_connection(callback)
  if host.connection then
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
    host.connection = opened
    require("codex-bridge.tools").register(opened, function(failed)
      if failed then
        host.current.chat:notice(S.no_editor_tools:format(failed))
      end
      done(nil)
    end)
  end)
end

-- Sends a message to the current conversation, see the Lua API.
function M.send(text, options, callback)
  local input = { text ~= "" and { type = "text", text = text } or nil }
  for _, path in ipairs(options.images or {}) do
    input[#input + 1] = { type = "localImage", path = vim.fn.fnamemodify(path, ":p") }
  end
  host.current:send(input, callback)
end

-- Interrupts the turn of the current conversation, or the one that is about to start.
function M.stop()
  host.current:stop()
end

-- Leaves the thread and its session.
function M.new()
  host.current:leave()
  if host.current == host.first and host.connection and config.current.session ~= "" and host.connection:supports("bridge/binding/clear") then
    host.connection:request("bridge/binding/clear", { sessionKey = config.current.session })
  end
end

-- Leaves the thread and resumes another one; callback(err). A thread that is open in a chat is shown there.
function M.resume(id, callback)
  local conversation = M.of_thread(id)
  if conversation and conversation ~= host.current then
    M.switch(conversation)
    return callback(nil)
  end
  conversation = host.current
  host.ensure_connection(function(err)
    if err then
      conversation.chat:notice(err)
      return callback(err)
    end
    conversation:leave()
    conversation:load(id, function(failed, result)
      if failed then
        conversation.chat:notice(failed)
      else
        conversation:show_turns(result.thread.turns)
        policy.thread_opened(conversation.chat)
      end
      callback(failed)
    end, 0)
  end)
end

-- Opens a copy of a thread in a new chat; callback(err).
function M.fork(id, callback)
  M.request("thread/fork", { threadId = id }, function(err, result)
    if err then
      return callback(err)
    end
    local conversation = M.open_chat()
    conversation:set_thread(result)
    conversation:show_turns(result.thread.turns)
    policy.thread_opened(conversation.chat)
    callback(nil)
  end)
end

-- Shows another conversation.
function M.switch(conversation)
  local windows = vim.fn.win_findbuf(host.current.chat:buffer())
  use(conversation)
  require("codex-bridge.view").show_current(windows)
  status.redraw()
  status.emit("Chat", { chat = conversation.chat.number, threadId = conversation.thread and conversation.thread.id })
end

-- Adds a conversation and shows it; returns it.
function M.open_chat()
  M.switch(add())
  return host.current
end

-- Closes a conversation: leaves its thread and deletes its chat. The last one stays, empty.
function M.close_chat(conversation)
  conversation:leave()
  if #all == 1 then
    return
  end
  all = vim.tbl_filter(function(other)
    return other ~= conversation
  end, all)
  if host.current == conversation then
    M.switch(all[#all])
  end
  conversation.chat:delete()
end

-- Returns the folder of the current thread, or that of the next one.
function M.folder()
  local thread = host.current.thread
  return thread and thread.cwd or vim.fn.getcwd()
end

-- Returns the conversations.
function M.all()
  return vim.list_slice(all)
end

-- Returns the current conversation.
function M.current()
  return host.current
end

-- Sends any request to Codex or the bridge; callback(err, result).
function M.request(method, params, callback)
  host.ensure_connection(function(err)
    if err then
      return callback({ code = -32011, message = err })
    end
    host.connection:request(method, params, callback)
  end)
end

-- Sends a request to the bridge; callback(err, result). Without a bridge it fails.
function M.bridge_request(method, params, callback)
  host.ensure_connection(function(err)
    if err then
      return callback({ code = -32011, message = err })
    elseif not host.connection:supports(method) then
      return callback({ code = -32601, message = S.needs_bridge })
    end
    host.connection:request(method, params, callback)
  end)
end

-- Returns state ("off", "idle", "working"), thread, turn, bridge and agent of the current conversation.
function M.about()
  local current, connection = host.current, host.connection
  return {
    state = current:state(),
    thread = vim.deepcopy(current.thread),
    turn = current.turn,
    bridge = connection and vim.deepcopy(connection.bridge),
    agent = connection and connection.agent,
  }
end

-- Stops the process.
function M.close()
  if host.connection then
    host.connection:close()
  end
end

return M
