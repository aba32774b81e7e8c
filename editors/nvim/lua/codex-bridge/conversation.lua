-- One thread with its chat and its turn. Messages are sent one after the other, so that the second of two messages steers
-- the turn that the first one starts.
local changes = require("codex-bridge.changes")
local chats = require("codex-bridge.chat")
local config = require("codex-bridge.config")
local items = require("codex-bridge.items")
local policy = require("codex-bridge.policy")
local requests = require("codex-bridge.requests")
local S = require("codex-bridge.strings")
local status = require("codex-bridge.status")

local M = {}

local Conversation = {}
Conversation.__index = Conversation

-- Returns a new conversation. host has connection (nil while no process runs), ensure_connection(callback), and abandoned:
-- the ids of threads that the user left before turn/started, whose turn is then interrupted.
--
-- The fields: chat; thread { id, path, cwd, model, effort, sandbox, approvalPolicy, name }; loaded_on, the connection on which
-- the thread is loaded; turn, the id of the running turn, and turn_started_at; is_interruptible: Codex sent turn/started,
-- a turn can't be interrupted before; last_turn, the id of the last completed turn; stop_requested: the user stopped a
-- turn that is not interruptible yet; settings, which the next turn/start has, and watch for those of other clients; usage
-- and plan of Codex.
function M.new(host)
  return setmetatable({ host = host, chat = chats.new(), queue = {}, sending = false, settings = {} }, Conversation)
end

function Conversation:set_turn(id)
  self.turn, self.is_interruptible = id, self.is_interruptible and id ~= nil
  self.turn_started_at = id and (self.turn_started_at or vim.uv.now()) or nil
  status.turn_changed()
end

function Conversation:interrupt()
  self.host.connection:request("turn/interrupt", { threadId = self.thread.id, turnId = self.turn }, function(err)
    if err then
      self.chat:notice(S.not_stopped:format(err.message))
    end
  end)
end

function Conversation:turn_started(id)
  if self.turn == id or self.last_turn == id then
    return -- the turn may complete before the response to turn/start arrives
  end
  self:set_turn(id)
  changes.started(self.thread.id, id)
  status.emit("TurnStarted", { threadId = self.thread.id, turnId = id })
end

-- Returns the name of the thread, or the beginning of its first message.
function Conversation:title()
  local thread = self.thread or {}
  local text = thread.name or thread.preview or ""
  local line = require("codex-bridge.display").line((text:gsub("%s+", " ")))
  return line == "" and S.untitled or require("codex-bridge.ui").truncate(line, 40)
end

-- Tells the user that a turn has ended whose chat is not on the screen.
function Conversation:announce_end(state)
  if not self.chat:is_visible() then
    vim.notify(S.turn_ended[state]:format(S.name, self:title()), vim.log.levels.INFO)
  end
end

-- Notifications of the thread.
local notifications = {
  ["turn/started"] = function(self, p)
    self:turn_started(p.turn.id)
    self.is_interruptible = true
    if self.stop_requested then
      self.stop_requested = nil
      self:interrupt()
    end
  end,
  ["turn/completed"] = function(self, p)
    self.last_turn, self.stop_requested = p.turn.id, nil
    self.watch:completed()
    self.chat:flush()
    -- A command may run on after its turn; an interrupt or a failure ends it, without an item/completed.
    if p.turn.status ~= "completed" then
      self.chat:finish_all(S.stopped_item, "DiagnosticWarn")
    end
    if p.turn.error then
      self.chat:notice(p.turn.error.message)
    elseif p.turn.status == "interrupted" then
      self.chat:notice(S.stopped)
    end
    require("codex-bridge.changes.block").ended(self.chat, p.turn.id)
    require("codex-bridge.reload").all()
    self:set_turn(nil)
    self:announce_end(p.turn.status)
    status.emit("TurnCompleted", { threadId = p.threadId, turnId = p.turn.id, status = p.turn.status })
  end,
  ["item/started"] = function(self, p)
    items.started(self.chat, p.item)
  end,
  ["item/completed"] = function(self, p)
    items.completed(self.chat, p.item)
    status.emit("Item", { threadId = p.threadId, turnId = p.turnId, item = p.item })
  end,
  ["item/agentMessage/delta"] = function(self, p)
    self.chat:append(p.itemId, p.delta)
  end,
  ["item/commandExecution/outputDelta"] = function(self, p)
    self.chat:append(p.itemId, p.delta)
  end,
  ["turn/diff/updated"] = function(self, p)
    changes.diff(p.threadId, p.diff)
    require("codex-bridge.changes.block").live(self.chat, p.turnId, p.diff)
  end,
  ["turn/plan/updated"] = function(self, p)
    self.plan = p
    items.plan(self.chat, p)
    status.redraw()
    status.emit("Plan", p)
  end,
  ["thread/tokenUsage/updated"] = function(self, p)
    self.usage = p.tokenUsage
    status.redraw()
  end,
  ["thread/name/updated"] = function(self, p)
    self.thread.name = p.threadName
    status.redraw()
  end,
  ["thread/settings/updated"] = function(self, p)
    local settings, thread = p.threadSettings, self.thread
    local changes = self.watch:updated(settings)
    if #changes > 0 then
      self.chat:notice(S.changed_elsewhere:format(table.concat(changes, "; ")))
    end
    thread.model, thread.effort, thread.approvalPolicy, thread.sandbox = settings.model, settings.effort, settings.approvalPolicy, settings.sandboxPolicy
    status.redraw()
  end,
  ["error"] = function(self, p)
    if p.willRetry then
      self.chat:notice(p.error.message)
    end
  end,
}

-- Handles a notification of Codex, if it is about this thread.
function Conversation:notification(method, p)
  if notifications[method] and self.thread and p.threadId == self.thread.id then
    notifications[method](self, p)
  end
end

-- Handles the end of the process.
function Conversation:exited(code, signal)
  self.loaded_on, self.stop_requested = nil, nil
  self.chat:flush()
  self.chat:finish_all(S.stopped_item, "DiagnosticWarn")
  if self.thread or self.host.current == self then
    self.chat:notice(S.exited:format(code, signal))
  end
  self:set_turn(nil)
end

function Conversation:set_thread(result)
  self.loaded_on, self.turn, self.usage, self.plan = self.host.connection, nil, nil, nil
  self.thread = { id = result.thread.id, path = result.thread.path, cwd = result.cwd, name = result.thread.name, preview = result.thread.preview, effort = result.reasoningEffort }
  for _, name in ipairs({ "model", "sandbox", "approvalPolicy" }) do
    self.thread[name] = result[name]
  end
  self.watch = require("codex-bridge.settings_watch").new(self.thread)
  status.redraw()
  status.emit("Thread", { threadId = self.thread.id, resumed = #(result.thread.turns or {}) > 0 })
end

-- Shows the past turns of a thread, and continues with a running one.
function Conversation:show_turns(turns)
  self.chat:clear()
  policy.thread_shown(self.chat)
  for _, past in ipairs(turns or {}) do
    for _, item in ipairs(past.items) do
      items.completed(self.chat, item)
    end
    if past.status == "inProgress" then
      self:set_turn(past.id)
      self.is_interruptible = true
    end
  end
end

local read_only_folders = {} -- those of which the user knows

-- Says once for each folder why a new thread can't write.
function Conversation:explain_read_only()
  local sandbox, folder = self.thread.sandbox, self.thread.cwd
  if type(sandbox) == "table" and sandbox.type == "readOnly" and not read_only_folders[folder] and not self.host.connection:enforces() then
    read_only_folders[folder] = true
    self.chat:notice(S.read_only_folder)
  end
end

function Conversation:start(callback)
  local connection = self.host.connection
  local params = vim.tbl_extend("keep", vim.deepcopy(config.current.thread), { cwd = vim.fn.getcwd() })
  local overlay = params.config or {}
  local is_chosen = params.sandbox ~= nil or params.permissions ~= nil or overlay.sandbox_mode ~= nil or overlay.default_permissions ~= nil
  -- Codex opens a thread without a sandbox read-only, unless it trusts the folder, and it trusts a folder in which a client
  -- opens a thread that can write. Under an enforced policy the bridge prevents that.
  if not is_chosen and connection:enforces() then
    params.sandbox = "workspace-write"
  end
  if not connection:supports("bridge/tool/register") then
    params.dynamicTools = require("codex-bridge.tools").dynamic_tools()
  end
  if self.host.first == self and config.current.session ~= "" and connection:supports("bridge/binding/clear") then
    params.bridge = { sessionKey = config.current.session }
  end
  connection:request("thread/start", params, function(err, result)
    if err then
      return callback(err.message)
    end
    self:set_thread(result)
    if result.bridge and result.bridge.action == "resumed" then
      self:show_turns(result.thread.turns)
    end
    policy.thread_opened(self.chat)
    if not is_chosen and not (result.bridge and result.bridge.action == "resumed") then
      self:explain_read_only()
    end
    callback(nil)
  end)
end

-- Resumes a thread. After a crash, the previous Codex may still hold the thread. The bridge stops it within two
-- seconds, so load retries.
function Conversation:load(id, callback, tries)
  self.host.connection:request("thread/resume", { threadId = id }, function(err, result)
    local busy = err and ((err.message or ""):find("active writer", 1, true) or err.code == -32015)
    if busy and tries > 0 and self.host.connection then
      vim.defer_fn(function()
        if not self.host.connection then
          return callback(err.message)
        end
        self:load(id, callback, tries - 1)
      end, 250)
    elseif err then
      callback(err.message)
    else
      self.host.abandoned[id] = nil
      self:set_thread(result)
      callback(nil, result)
    end
  end)
end

-- Starts or resumes the thread if necessary; callback(err).
function Conversation:ensure_thread(callback)
  self.host.ensure_connection(function(err)
    if err or (self.thread and self.loaded_on == self.host.connection) then
      return callback(err)
    end
    if not self.thread then
      return self:start(callback)
    end
    self:load(self.thread.id, function(failed)
      if failed and failed:find("no rollout found", 1, true) then
        return self:start(callback) -- Codex saves a thread with its first turn
      end
      callback(failed)
    end, 20)
  end)
end

-- Sends a request that starts a turn, with the chosen settings for turn/start; callback(err). A snapshot of the files is
-- taken before.
function Conversation:start_turn(method, params, callback)
  local id, settings, host = self.thread.id, self.settings, self.host
  local function is_here()
    return self.thread and self.thread.id == id
  end
  local text = params.input and params.input[1] and params.input[1].text or ""
  changes.before(self.thread, text, function()
    if not (host.connection and is_here()) then
      changes.not_started(id)
      host.abandoned[id] = nil
      if host.connection and not is_here() then
        host.connection:request("thread/unsubscribe", { threadId = id })
      end
      return callback(S.left_thread)
    end
    params = vim.tbl_extend("force", params, { threadId = id }, method == "turn/start" and settings or {})
    if method == "turn/start" then
      self.watch:request(settings)
    end
    host.connection:request(method, params, function(err, result)
      if err then
        changes.not_started(id)
      elseif is_here() then
        if method == "turn/start" and self.settings == settings then
          self.settings = {}
        end
        if result.turn then
          self:turn_started(result.turn.id)
        end
      end
      callback(err and err.message)
    end)
  end)
end

function Conversation:start_or_steer(input, callback)
  self:ensure_thread(function(err)
    if err then
      return callback(err)
    end
    if not self.turn then
      return self:start_turn("turn/start", { input = input }, callback)
    end
    local params = { threadId = self.thread.id, input = input, expectedTurnId = self.turn }
    self.host.connection:request("turn/steer", params, function(failed)
      if not failed then
        return callback(nil)
      end
      -- The turn has usually completed in the meantime, so the message starts the next one.
      if not (self.host.connection and self.thread) then
        return callback(failed.message)
      end
      self:start_turn("turn/start", { input = input }, callback)
    end)
  end)
end

function Conversation:send_next()
  local message = self.queue[1]
  if self.sending or not message then
    return
  end
  self.sending = true
  self:start_or_steer(message.input, function(err)
    table.remove(self.queue, 1)
    self.sending = false
    status.redraw()
    if err then
      self.chat:notice(S.not_sent:format(err))
    elseif self.thread and (self.thread.preview or "") == "" then
      self.thread.preview = message.input[1].text or ""
    end
    message.callback(err)
    self:send_next()
  end)
end

-- Sends a message; callback(err).
function Conversation:send(input, callback)
  self.chat:follow()
  self.queue[#self.queue + 1] = { input = input, callback = callback }
  self:send_next()
end

-- Interrupts the turn, or the one that is about to start.
function Conversation:stop()
  if self.host.connection and self.turn and self.is_interruptible then
    self:interrupt()
  elseif self.turn or self.sending then
    self.stop_requested = true
  end
end

-- Leaves the thread, and cancels its requests and queued messages.
function Conversation:leave()
  self:stop()
  requests.cancel("turn", self.turn)
  if self.thread and self.stop_requested then
    self.host.abandoned[self.thread.id] = true
  elseif self.thread and self.host.connection and self.loaded_on == self.host.connection then
    self.host.connection:request("thread/unsubscribe", { threadId = self.thread.id })
  end
  policy.thread_left(self.chat)
  for i = #self.queue, self.sending and 2 or 1, -1 do
    table.remove(self.queue, i).callback(S.left_thread)
  end
  self.thread, self.loaded_on, self.stop_requested, self.usage, self.plan, self.settings = nil, nil, nil, nil, nil, {}
  self:set_turn(nil)
  self.chat:clear()
end

-- Returns "off", "idle" or "working".
function Conversation:state()
  return (self.turn or self.sending) and "working" or self.host.connection and "idle" or "off"
end

return M
