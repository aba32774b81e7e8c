-- The changes of each turn under control: a snapshot before and after it, the list of its changes, undo and restore.
local config = require("codex-bridge.config")
local git = require("codex-bridge.checkpoint.git")
local S = require("codex-bridge.strings")
local stores = require("codex-bridge.checkpoint.store")
local turns = require("codex-bridge.checkpoint.turns")

local M = {}

M.limit_ms = 10000 -- a message waits no longer for its snapshot

local MAX_NAMES = 20

local pending = {} -- by thread: the turn that is about to run or runs
local completed = {} -- by thread: the id of the last completed turn
local latest = {} -- by thread: the last turn with changes, { store, files, uncovered }
local warned = {} -- reasons for which there was no restore point
local cleaned = {} -- stores
local group

local function open_store(folder)
  local store, reason = stores.open(folder or vim.fn.getcwd())
  if store and not cleaned[store] then
    cleaned[store] = true
    store:run(store.clean, function() end)
  end
  return store, reason
end

local function notice_once(thread_id, reason)
  local conversation = not warned[reason] and require("codex-bridge.session").of_thread(thread_id)
  if conversation then
    warned[reason] = true
    conversation.chat:notice(S.no_restore_point:format(reason))
  end
end

local function read(path)
  local stat = vim.uv.fs_stat(path)
  local file = stat and stat.type == "file" and io.open(path, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text
end

-- Records what a save of the user changes on the disk, while a turn runs.
local function watch_saves()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("codex-bridge.changes", {})
  local before = {}
  local function is_watched(path)
    return vim.iter(pending):any(function(_, turn)
      return turn.store and git.is_below(path, turn.store.root)
    end)
  end
  vim.api.nvim_create_autocmd("BufWritePre", {
    group = group,
    callback = function(event)
      local path = vim.uv.fs_realpath(event.match) or event.match
      before[event.buf] = is_watched(path) and { text = read(path) } or nil
    end,
  })
  vim.api.nvim_create_autocmd("BufWritePost", {
    group = group,
    callback = function(event)
      local old, path = before[event.buf], vim.uv.fs_realpath(event.match)
      before[event.buf] = nil
      local new = old and path and read(path)
      for _, turn in pairs(new and pending or {}) do
        if turn.store and git.is_below(path, turn.store.root) then
          local name = path:sub(#turn.store.root + 2)
          turn.saves[name] = turn.saves[name] or {}
          table.insert(turn.saves[name], { pre = old.text, post = new })
        end
      end
    end,
  })
  vim.api.nvim_create_autocmd("VimLeavePre", { group = group, callback = stores.close_all })
end

-- Names the files of an undo or restore that a killed editor has left. paths: those that are written, and those that are
-- not.
local function notice_interrupted(paths)
  local function names(list)
    local shown = vim.tbl_map(require("codex-bridge.display").value, vim.list_slice(list, 1, MAX_NAMES))
    if #list > MAX_NAMES then
      shown[#shown + 1] = S.more_names:format(#list - MAX_NAMES)
    end
    return #list == 0 and S.no_files or table.concat(shown, ", ")
  end
  require("codex-bridge.session").current().chat:notice(S.interrupted:format(names(paths[1]), names(paths[2])))
end

-- Takes the first snapshot of the current folder, so that later ones are quick.
function M.warm()
  local store = config.current.checkpoints and open_store()
  if store and not store.warmed then
    store.warmed = true
    watch_saves()
    store:run(function()
      turns.end_left(store, store:snapshot(tostring(stores.now())))
      return vim.tbl_map(function(record)
        return { turns.progress(store, record) }
      end, turns.interrupted(store))
    end, function(_, interrupted)
      vim.tbl_map(notice_interrupted, interrupted or {})
    end)
  end
end

-- Takes the snapshot before a turn of a thread; callback() follows in any case. text: the message.
function M.before(thread, text, callback)
  if not config.current.checkpoints then
    return callback()
  end
  local turn = { thread = thread.id, saves = {}, time = stores.now() }
  local is_done = false
  local function done(reason)
    if not is_done then
      is_done = true
      turn.failed = reason
      if reason then
        notice_once(thread.id, reason)
      end
      callback()
    end
  end
  local store, reason = open_store(thread.cwd)
  if not store then
    return done(reason)
  end
  turn.store = store
  local previous = pending[thread.id]
  if previous and previous.id and not previous.is_over then
    M.completed(thread.id, previous.id) -- its notification is still on the way
  end
  pending[thread.id] = turn
  watch_saves()
  local timer = vim.defer_fn(function()
    done(S.too_slow:format(M.limit_ms / 1000))
  end, M.limit_ms)
  store:run(function()
    if not turn.failed then
      store:write_excludes()
      local line = vim.fn.strcharpart(text:match("[^\n]*"), 0, 80)
      local commit = store:snapshot(("%d\n%s"):format(turn.time, line))
      local records = not turn.failed and vim.list_extend(store:outside(), store:modes())
      if not turn.failed then -- in time
        turn.before, turn.records = commit, records
      end
    end
  end, function(err)
    if not timer:is_closing() then
      timer:close()
    end
    done(err)
  end)
end

-- Names the snapshot of a thread's new turn.
function M.started(thread_id, turn_id)
  local turn = pending[thread_id]
  if turn and not turn.id then
    turn.id, turn.name = turn_id, ("refs/turns/%s/%s"):format(stores.key(thread_id), stores.key(turn_id))
    if turn.before then
      turn.store:run(function(store)
        store:set_ref(turn.name .. "/info", store:put(table.concat(vim.list_extend({ turns.owner() }, turn.records), "\0")))
        store:set_ref(turn.name .. "/before", turn.before)
      end, function() end)
    end
  end
end

-- Forgets the snapshot of a turn that did not start.
function M.not_started(thread_id)
  local turn = pending[thread_id]
  if turn and not turn.id then
    pending[thread_id] = nil
  end
end

-- Keeps the diff of a running turn.
function M.diff(thread_id, diff)
  if pending[thread_id] then
    pending[thread_id].diff = diff
    require("codex-bridge.changes.list").refresh(thread_id)
  end
end

local function show_result(turn, changes)
  turn.files, turn.uncovered = changes.files, changes.uncovered
  if #changes.files > 0 then
    latest[turn.thread] = turn
  end
  local conversation = require("codex-bridge.session").of_thread(turn.thread)
  if conversation then
    require("codex-bridge.changes.block").result(conversation.chat, turn)
  end
  require("codex-bridge.changes.list").refresh(turn.thread)
  require("codex-bridge.status").emit("Changes", { threadId = turn.thread, turnId = turn.id, files = #changes.files })
end

-- Takes the snapshot after a turn, and then shows its changes.
function M.completed(thread_id, turn_id)
  local turn = pending[thread_id]
  if not turn or turn.is_over or completed[thread_id] == turn_id or turn.id and turn.id ~= turn_id then
    return
  end
  completed[thread_id] = turn_id
  M.started(thread_id, turn_id)
  if not turn.before then
    pending[thread_id] = nil
    return
  end
  turn.is_over = true
  turn.store:run(function(store)
    local commit = store:snapshot(("%d\n"):format(turn.time))
    local records = vim.list_extend({ turns.owner() }, turn.records)
    vim.list_extend(records, turns.saved_records(store, turn.before, turn.saves))
    turn.info, turn.after = store:put(table.concat(records, "\0")), commit
    store:set_ref(turn.name .. "/info", turn.info)
    store:set_ref(turn.name .. "/after", commit)
    return turns.files(store, turn)
  end, function(err, changes)
    if pending[thread_id] == turn then
      pending[thread_id] = nil
    end
    if err then
      return notice_once(thread_id, err)
    end
    show_result(turn, changes)
  end)
end

-- Completes all turns, after the program exits.
function M.exited()
  for thread_id, turn in pairs(pending) do
    if turn.id then
      M.completed(thread_id, turn.id)
    else
      pending[thread_id] = nil
    end
  end
end

-- Returns the reason why nothing may be undone now, or nil.
function M.is_busy()
  for _, turn in pairs(pending) do
    if not turn.is_over then
      return S.while_running
    end
  end
  for _, conversation in ipairs(require("codex-bridge.session").all()) do
    if conversation.turn then
      return S.while_running
    end
  end
end

-- Returns the running turn of a thread.
function M.running(thread_id)
  local turn = pending[thread_id]
  return turn and not turn.is_over and turn or nil
end

-- Calls callback(err, turn) with the last turn of a thread that changed files; nil if there is none.
function M.latest(thread, callback)
  if latest[thread.id] then
    return callback(nil, latest[thread.id])
  end
  local store, reason = open_store(thread.cwd)
  if not store then
    return callback(reason)
  end
  store:run(function()
    local list = store:list("refs/turns/" .. stores.key(thread.id))
    for i = #list, 1, -1 do
      local changes = turns.files(store, list[i])
      if #changes.files > 0 then
        return vim.tbl_extend("force", list[i], { thread = thread.id, store = store }, changes)
      end
    end
  end, function(err, turn)
    latest[thread.id] = latest[thread.id] or turn
    callback(err, latest[thread.id])
  end)
end

-- Shows the changes of a thread again, or without one: of all threads.
function M.refresh(thread_id)
  require("codex-bridge.changes.list").refresh(thread_id)
  for _, conversation in ipairs(require("codex-bridge.session").all()) do
    local thread = conversation.thread
    if thread and (not thread_id or thread.id == thread_id) then
      M.latest(thread, function(_, turn)
        if turn then
          require("codex-bridge.changes.block").refresh(conversation.chat, turn)
        end
      end)
    end
  end
end

-- Undoes a file of a turn, or one of its hunks; callback(err, plan).
function M.undo(turn, file, hunk, callback)
  local busy = M.is_busy()
  if busy then
    return callback(busy)
  end
  turn.store:run(function(store)
    local plan = turns.plan(store, file.path, { turns.step(file, hunk) }, file.empty)
    turns.apply(store, { plan }, "undo")
    return plan
  end, callback)
end

-- Lists the restore points of a thread, the newest first; callback(err, list, store).
function M.restore_points(thread, callback)
  local store, reason = open_store(thread.cwd)
  if not store then
    return callback(reason)
  end
  store:run(function()
    return store:list("refs/turns/" .. stores.key(thread.id))
  end, function(err, list)
    callback(err, list, store)
  end)
end

-- Plans the undo of records, the oldest first; callback(err, plans, uncovered). forward: plans their completion.
function M.plan(store, records, callback, forward)
  store:run(function()
    return { turns.plans(store, records, forward) }
  end, function(err, result)
    callback(err, result and result[1], result and result[2])
  end)
end

-- Brings the lists of changes up to date: those of a restore leave them, those of an undone restore are back.
local function update_lists(store, plans, undone)
  for thread_id, turn in pairs(latest) do
    if turn.store == store and undone then
      latest[thread_id] = nil
    end
  end
  for _, plan in ipairs(undone and {} or plans) do
    local turn = latest[plans.thread]
    for _, file in ipairs(turn and not plan.reason and turn.files or {}) do
      if not file.done and file.path == plan.path then
        file.done, file.outcome = true, "undone"
      end
    end
  end
  M.refresh()
end

-- Forgets that a killed editor has left an undo or restore; callback(err).
function M.settle(store, record, callback)
  store:run(function()
    store:delete_refs(record.name, { "writing" })
  end, callback)
end

-- Writes plans; callback(err). plans.thread: the id of the restored thread. undone: the record of the restore that the
-- plans undo. plans.finished: the record of an interrupted one that the plans complete.
function M.apply(store, plans, undone, callback)
  local busy = M.is_busy()
  if busy then
    return callback(busy)
  end
  store:run(function()
    turns.apply(store, plans, undone and "undone" or "undo")
    if undone then
      store:delete_refs(undone.name, { "before", "after", "info", "writing" })
    elseif plans.finished then
      store:delete_refs(plans.finished.name, { "writing" })
    end
  end, function(err)
    update_lists(store, plans, undone)
    callback(err)
  end)
end

-- Calls callback(err, record, store) with the last undo or restore of the current folder; nil if there is none. One that a
-- killed editor has left comes first; it has is_interrupted.
function M.last_undo(folder, callback)
  local store, reason = open_store(folder)
  if not store then
    return callback(reason)
  end
  store:run(function()
    local left = turns.interrupted(store)
    if #left > 0 then
      left[#left].is_interrupted = true
      return left[#left]
    end
    local list = vim.tbl_filter(function(record)
      return not record.writing -- else another editor writes it now
    end, store:list("refs/undo"))
    return list[#list]
  end, function(err, record)
    callback(err, record, store)
  end)
end

return M
