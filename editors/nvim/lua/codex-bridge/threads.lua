-- The threads of the current directory: resume, search, rename, archive, fork.
local S = require("codex-bridge.strings")

local M = {}

local function session()
  return require("codex-bridge.session")
end

local function fail(err)
  vim.notify(S.error:format(err.message or err), vim.log.levels.ERROR)
end

local function title(thread)
  local text = require("codex-bridge.display").line(((thread.name or thread.preview):gsub("%s+", " ")))
  return vim.fn.strcharpart(text, 0, 80)
end

local function line(thread)
  return os.date("%Y-%m-%d %H:%M ", thread.updatedAt) .. title(thread)
end

-- Gets the threads, the latest first; callback(list). options: search, a part of the name or of the first message;
-- archived.
local function get(options, callback)
  local params = { cwd = vim.fn.getcwd(), limit = 50, sortKey = "updated_at", archived = options.archived, searchTerm = options.search }
  session().request("thread/list", params, function(err, result)
    if err then
      return fail(err)
    end
    callback(result.data)
  end)
end

-- Lets the user choose a thread to resume; callback(id).
function M.choose(callback)
  get({}, function(list)
    if #list == 0 then
      return vim.notify(S.no_threads, vim.log.levels.INFO)
    end
    vim.ui.select(list, { prompt = S.resume_thread, kind = "codex-thread", format_item = line }, function(thread)
      if thread then
        callback(thread.id)
      end
    end)
  end)
end

-- Returns the current thread, or nil after a message that there is none.
local function current_thread()
  local thread = session().current().thread
  if not thread then
    vim.notify(S.no_thread, vim.log.levels.WARN)
  end
  return thread
end

-- Renames a thread; without a name the user enters it.
local function rename(thread, name)
  local function set(text)
    if not text or vim.trim(text) == "" then
      return
    end
    session().request("thread/name/set", { threadId = thread.id, name = vim.trim(text) }, function(err)
      if err then
        return fail(err)
      end
      local conversation = session().of_thread(thread.id)
      if conversation then
        conversation.thread.name = vim.trim(text)
        require("codex-bridge.status").redraw()
      end
      vim.notify(S.renamed:format(title({ name = text })), vim.log.levels.INFO)
    end)
  end
  if name and name ~= "" then
    return set(name)
  end
  vim.ui.input({ prompt = S.ask_name, default = thread.name }, set)
end

-- Archives a thread, or takes it out of the archive. Its chat becomes empty.
local function archive(thread, method)
  session().request(method, { threadId = thread.id }, function(err)
    if err then
      return fail(err)
    end
    local conversation = session().of_thread(thread.id)
    if conversation and method == "thread/archive" then
      conversation:leave()
    end
    vim.notify((method == "thread/archive" and S.archived or S.unarchived):format(title(thread)), vim.log.levels.INFO)
  end)
end

local function fork(thread)
  session().fork(thread.id, function(err)
    if err then
      return fail(err)
    end
    require("codex-bridge.view").open()
  end)
end

local actions = {
  { S.resume, function(thread) require("codex-bridge").resume(thread.id) end },
  {
    S.resume_in_chat,
    function(thread)
      require("codex-bridge").chat()
      require("codex-bridge").resume(thread.id)
    end,
  },
  { S.rename, rename },
  { S.fork, fork },
  { S.archive, function(thread) archive(thread, "thread/archive") end },
}

local archived_actions = {
  {
    S.unarchive,
    function(thread)
      archive(thread, "thread/unarchive")
    end,
  },
}

local function choose_action(thread, of)
  vim.ui.select(of, {
    prompt = title(thread),
    kind = "codex-thread-action",
    format_item = function(action)
      return action[1]
    end,
  }, function(action)
    if action then
      action[2](thread)
    end
  end)
end

local function search(options)
  vim.ui.input({ prompt = S.ask_search, default = options.search }, function(text)
    if text then
      M.browse(vim.tbl_extend("force", options, { search = vim.trim(text) ~= "" and vim.trim(text) or nil }))
    end
  end)
end

-- Lists the threads; the user chooses one, and then what happens with it. options: see get.
function M.browse(options)
  get(options, function(list)
    local entries = vim.tbl_map(function(thread)
      return { label = line(thread), action = function() choose_action(thread, options.archived and archived_actions or actions) end }
    end, list)
    local function add(label, action)
      entries[#entries + 1] = { label = label, action = action }
    end
    add(S.search_threads, function() search(options) end)
    if options.search then
      add(S.all_threads, function() M.browse({ archived = options.archived }) end)
    end
    add(options.archived and S.active_threads or S.archived_threads, function() M.browse({ archived = not options.archived or nil }) end)
    local text = options.archived and S.archived_threads or S.threads
    vim.ui.select(entries, {
      prompt = options.search and S.threads_with:format(text, require("codex-bridge.display").line(options.search)) or text,
      kind = "codex-thread",
      format_item = function(entry)
        return entry.label
      end,
    }, function(entry)
      if entry then
        entry.action()
      end
    end)
  end)
end

-- Renames, forks or archives the current thread.
function M.rename(name)
  local thread = current_thread()
  if thread then
    rename(thread, name)
  end
end

function M.fork()
  local thread = current_thread()
  if thread then
    fork(thread)
  end
end

function M.archive()
  local thread = current_thread()
  if thread then
    archive({ id = thread.id, name = session().current():title() }, "thread/archive")
  end
end

return M
