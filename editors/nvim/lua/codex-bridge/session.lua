-- The thread that the chat shows, and its turn. What is sent goes out one after the other:
-- a text that is sent while another is on its way finds the turn that that one began.
local ask = require("codex-bridge.ask")
local chat = require("codex-bridge.chat")
local config = require("codex-bridge.config")
local events = require("codex-bridge.events")
local items = require("codex-bridge.items")

local M = {}

local connection -- nil while codex does not run
local opening -- who waits for it
local thread -- { id, path, model, sandbox, approvalPolicy }
local loaded -- the connection that knows the thread
local turn -- the id of the turn that runs
local running -- whether Codex has said that it runs: before that it can't be interrupted
local ended -- the id of the one that ended last
local asked_to_stop -- before the turn ran
local queue, sending = {}, false
local left = {} -- threads that were left before their turn ran: it is stopped when it does

local warned = {} -- what codex says at each start is said once

local function warn(text)
  if not warned[text] then
    warned[text] = true
    chat.notice(text)
  end
end

local function set_turn(id)
  turn, running = id, running and id ~= nil
  events.changed()
end

local function interrupt()
  connection:request("turn/interrupt", { threadId = thread.id, turnId = turn }, function(err)
    if err then
      chat.notice("not stopped: " .. err.message)
    end
  end)
end

local function began(id)
  if turn == id or ended == id then
    return -- the turn was over before the answer to its start was here
  end
  set_turn(id)
  events.emit("TurnStarted", { threadId = thread.id, turnId = id })
end

local heard = {
  ["turn/started"] = function(p)
    began(p.turn.id)
    running = true
    if asked_to_stop then
      asked_to_stop = nil
      interrupt()
    end
  end,
  ["turn/completed"] = function(p)
    ended, asked_to_stop = p.turn.id, nil
    chat.flush()
    if p.turn.error then
      chat.notice(p.turn.error.message)
    elseif p.turn.status == "interrupted" then
      chat.notice("stopped")
    end
    require("codex-bridge.reload").all()
    set_turn(nil)
    events.emit("TurnCompleted", { threadId = p.threadId, turnId = p.turn.id, status = p.turn.status })
  end,
  ["item/started"] = function(p)
    items.started(p.item)
  end,
  ["item/completed"] = function(p)
    items.completed(p.item)
    events.emit("Item", { threadId = p.threadId, turnId = p.turnId, item = p.item })
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
    events.changed()
  end,
  ["error"] = function(p)
    if p.willRetry then
      chat.notice(p.error.message)
    end
  end,
}

local function notification(method, p)
  if method == "item/started" then
    ask.started(p.item, p.turnId) -- of every thread: subagents ask, too
  elseif method == "item/completed" then
    ask.forget("item", p.item.id)
    require("codex-bridge.reload").item(p.item)
  elseif method == "turn/started" and left[p.threadId] then
    connection:request("turn/interrupt", { threadId = p.threadId, turnId = p.turn.id })
  elseif method == "turn/completed" then
    left[p.threadId] = nil
    ask.forget("turn", p.turn.id)
  elseif method == "configWarning" then
    warn(p.summary .. (p.details and "\n" .. p.details or ""))
  elseif method == "warning" and (not p.threadId or thread and p.threadId == thread.id) then
    warn(p.message)
  elseif method == "bridge/policy/applied" then
    events.emit("Policy", p)
    if p.error then
      chat.notice(("the policy refused %s: %s"):format(p.method, p.error.reason or p.error.message or ""))
    end
  elseif method:find("^bridge/") then
    events.emit("Bridge", { method = method, params = p })
  end
  if heard[method] and thread and p.threadId == thread.id then
    heard[method](p)
  end
end

local function exited(code, signal)
  connection, loaded, asked_to_stop = nil, nil, nil
  ask.forget()
  chat.flush()
  chat.notice(("codex has ended (status %d, signal %d); what you send next starts it again"):format(code, signal))
  set_turn(nil)
  events.emit("Exited", { code = code, signal = signal })
end

local handlers = {
  notification = notification,
  request = ask.request,
  trouble = function(text)
    vim.notify("codex: " .. text, vim.log.levels.ERROR)
  end,
  exit = exited,
}

local function connected(callback)
  if connection then
    return callback(nil)
  end
  opening = opening or {}
  opening[#opening + 1] = callback
  if #opening > 1 then
    return
  end
  local function done(err)
    local all = opening
    opening = nil
    for _, each in ipairs(all) do
      each(err)
    end
  end
  require("codex-bridge.connection").open(handlers, function(err, opened)
    if err then
      return require("codex-bridge.why").explain(err, done)
    end
    connection = opened
    require("codex-bridge.tools").register(connection, function(failed)
      if failed then
        chat.notice("the tools of the editor are not offered: " .. failed)
      end
      done(nil)
    end)
  end)
end

local function took(result)
  loaded, turn = connection, nil
  thread = { id = result.thread.id, path = result.thread.path }
  for _, name in ipairs({ "model", "sandbox", "approvalPolicy" }) do
    thread[name] = result[name]
  end
  events.changed()
  events.emit("Thread", { threadId = thread.id, resumed = #(result.thread.turns or {}) > 0 })
end

-- The past of a thread, and its turn if one runs.
local function show(turns)
  chat.clear()
  for _, past in ipairs(turns or {}) do
    for _, item in ipairs(past.items) do
      items.completed(item)
    end
    if past.status == "inProgress" then
      set_turn(past.id)
      running = true
    end
  end
end

local function start(callback)
  local params = vim.tbl_extend("keep", vim.deepcopy(config.current.thread), { cwd = vim.fn.getcwd() })
  if not connection:has("bridge/tool/register") then
    params.dynamicTools = require("codex-bridge.tools").specs()
  end
  if config.current.session ~= "" and connection:has("bridge/binding/clear") then
    params.bridge = { sessionKey = config.current.session }
  end
  connection:request("thread/start", params, function(err, result)
    if err then
      return callback(err.message)
    end
    took(result)
    if result.bridge and result.bridge.action == "resumed" then
      show(result.thread.turns)
    end
    callback(nil)
  end)
end

-- After a crash the codex of before may still be ending: it is the thread's writer until it
-- has. That takes the bridge two seconds at most.
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
      left[id] = nil
      took(result)
      callback(nil, result)
    end
  end)
end

local function threaded(callback)
  connected(function(err)
    if err or (thread and loaded == connection) then
      return callback(err)
    end
    if not thread then
      return start(callback)
    end
    resume(thread.id, function(failed)
      if failed and failed:find("no rollout found", 1, true) then
        return start(callback) -- it never ran a turn
      end
      callback(failed)
    end, 20)
  end)
end

local function begin(input, callback)
  local id = thread.id
  connection:request("turn/start", { threadId = id, input = input }, function(err, result)
    if not err and thread and thread.id == id then
      began(result.turn.id)
    end
    callback(err and err.message)
  end)
end

local function deliver(input, callback)
  threaded(function(err)
    if err then
      return callback(err)
    end
    if not turn then
      return begin(input, callback)
    end
    connection:request("turn/steer", { threadId = thread.id, input = input, expectedTurnId = turn }, function(failed)
      if not failed then
        return callback(nil)
      end
      -- The turn ended in the meantime, as a rule. What a person has written is not lost.
      if not (connection and thread) then
        return callback(failed.message)
      end
      begin(input, callback)
    end)
  end)
end

local function pump()
  local next_one = queue[1]
  if sending or not next_one then
    return
  end
  sending = true
  deliver(next_one.input, function(err)
    table.remove(queue, 1)
    sending = false
    if err then
      chat.notice("not sent: " .. err)
    end
    next_one.callback(err)
    pump()
  end)
end

function M.send(text, options, callback)
  local input = { { type = "text", text = text } }
  for _, path in ipairs(options.images or {}) do
    input[#input + 1] = { type = "localImage", path = vim.fn.fnamemodify(path, ":p") }
  end
  queue[#queue + 1] = { input = input, callback = callback }
  pump()
end

function M.stop()
  if connection and turn and running then
    interrupt()
  elseif turn or sending then
    asked_to_stop = true
  end
end

-- Leaves the thread. What it still asks is for nobody any more.
local function leave()
  M.stop()
  ask.forget("turn", turn)
  if thread and asked_to_stop then
    left[thread.id] = true
  end
  for i = #queue, sending and 2 or 1, -1 do
    table.remove(queue, i).callback("the thread was left")
  end
  thread, loaded, asked_to_stop = nil, nil, nil
  set_turn(nil)
  chat.clear()
end

function M.new()
  leave()
  if connection and config.current.session ~= "" and connection:has("bridge/binding/clear") then
    connection:request("bridge/binding/clear", { sessionKey = config.current.session })
  end
end

function M.resume(id, callback)
  connected(function(err)
    if err then
      chat.notice(err)
      return callback(err)
    end
    leave()
    resume(id, function(failed, result)
      if failed then
        chat.notice(failed)
      else
        show(result.thread.turns)
      end
      callback(failed)
    end, 0)
  end)
end

-- The threads of this folder, the latest first; callback(err, list).
function M.threads(callback)
  connected(function(err)
    if err then
      return callback(err)
    end
    connection:request("thread/list", { cwd = vim.fn.getcwd(), limit = 50, sortKey = "updated_at" }, function(failed, result)
      callback(failed and failed.message, result and result.data)
    end)
  end)
end

-- A request of one's own to codex or the bridge; callback(err, result).
function M.request(method, params, callback)
  connected(function(err)
    if err then
      return callback({ code = -32011, message = err })
    end
    connection:request(method, params or vim.empty_dict(), callback)
  end)
end

-- What there is to know: state ("off", "idle", "working"), thread, turn, bridge, agent.
function M.about()
  return {
    state = (turn or sending) and "working" or connection and "idle" or "off",
    thread = vim.deepcopy(thread),
    turn = turn,
    bridge = connection and vim.deepcopy(connection.bridge),
    agent = connection and connection.agent,
  }
end

function M.close()
  if connection then
    connection:close()
  end
end

return M
