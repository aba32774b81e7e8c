-- The store of a workspace: a private bare repository with a snapshot before and after each turn. The user's own
-- repository is never used. Work on a store is a queue of coroutines, one after the other.
local create_folder = require("codex-bridge.folder").create
local git = require("codex-bridge.checkpoint.git")
local S = require("codex-bridge.strings")

local M = {}

local Store = { UNFINISHED = "unfinished" } -- the text of the snapshot after a turn that another process has ended
Store.__index = Store

local HOUR = 3600
local DAY = 24 * HOUR
local MAX_AGE, MAX_REFS = 14 * DAY, 200
local ATTRIBUTES = "* -text -filter -ident -working-tree-encoding -diff -merge\n"

local stores = {}

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  assert(file:close())
end

-- Returns the milliseconds since 1970.
function M.now()
  local sec, usec = vim.uv.gettimeofday()
  return sec * 1000 + math.floor(usec / 1000)
end

-- Returns an id as a component of a ref.
function M.key(id)
  return id:find("^%w[%w_-]*$") and #id <= 100 and id or vim.fn.sha256(id)
end

-- Returns the store of a folder, or nil and the reason.
function M.open(folder)
  local root = vim.uv.fs_realpath(folder)
  if not root then
    return nil, S.no_folder
  elseif root == "/" or root == vim.uv.fs_realpath(vim.uv.os_homedir() or "/") then
    return nil, S.home_folder
  elseif stores[root] then
    return stores[root]
  end
  local parent = vim.fs.joinpath(vim.fn.stdpath("state"), "codex-bridge", "checkpoints")
  local dir = vim.fs.joinpath(parent, vim.fn.sha256(root):sub(1, 16) .. ".git")
  local name = ("%d-%x"):format(vim.uv.os_getpid(), vim.uv.hrtime())
  local self = setmetatable({ root = root, dir = dir, parent = parent, name = name, index = dir .. "/index." .. name, queue = {} }, Store)
  self.git = git.new(dir, root, self.index)
  if not self.git then
    return nil, S.no_git
  end
  stores[root] = self
  return self
end

-- Runs work(store) in a coroutine when the work before it is complete; done(err, result) follows.
function Store:run(work, done)
  self.queue[#self.queue + 1] = { work = work, done = done }
  self:next()
end

function Store:next()
  local job = not self.busy and table.remove(self.queue, 1)
  if not job then
    return
  end
  self.busy = true
  coroutine.wrap(function()
    local ok, result = pcall(function()
      self:prepare()
      return job.work(self)
    end)
    self.busy = false
    vim.schedule(function()
      if ok then
        job.done(nil, result)
      else
        job.done(type(result) == "table" and result.text or tostring(result))
      end
    end)
    self:next()
  end)()
end

-- Creates the repository, at once: another process may do the same, or use it already.
function Store:create()
  if vim.uv.fs_stat(self.dir .. "/HEAD") then
    return
  end
  local function init(dir)
    self.git:run({ "init", "--quiet", "--bare", "--template=", dir }, nil, { GIT_WORK_TREE = false, GIT_DIR = false })
  end
  local new = self.dir .. "." .. self.name
  init(new)
  if not vim.uv.fs_rename(new, self.dir) then
    vim.fn.delete(new, "rf")
  end
  if not vim.uv.fs_stat(self.dir .. "/HEAD") then
    init(self.dir) -- it is incomplete
  end
end

-- Writes a file of the store, at once: a git of another process may read it.
function Store:write(name, text)
  local new = ("%s/%s.%s"):format(self.dir, name, self.name)
  write(new, text)
  assert(vim.uv.fs_rename(new, self.dir .. "/" .. name))
end

function Store:prepare()
  if self.prepared then
    return
  end
  create_folder(self.parent, tonumber("700", 8))
  assert(vim.uv.fs_chmod(self.parent, tonumber("700", 8)))
  self:create()
  assert(vim.uv.fs_chmod(self.dir, tonumber("700", 8)))
  create_folder(self.dir .. "/info", tonumber("755", 8))
  self:write("info/attributes", ATTRIBUTES)
  self:write_excludes()
  self:copy_index()
  local lock = self.dir .. "/packed-refs.lock"
  local stat = vim.uv.fs_stat(lock)
  if stat and os.time() - stat.mtime.sec > HOUR then
    vim.uv.fs_unlink(lock) -- of a git that was killed
  end
  self.prepared = true
end

-- Writes the user's ignore patterns. A turn has the same patterns before and after.
function Store:write_excludes()
  self.user_file = self.user_file or self.git:user_setting("core.excludesFile") or ""
  self:write("info/exclude", require("codex-bridge.checkpoint.ignore").text(self.root, self.user_file ~= "" and self.user_file or nil, self.dir))
end

-- Begins with the index of the last process. Its time is kept, in whole seconds: git compares a file that is not older
-- than the index by content.
function Store:copy_index()
  local stat = vim.uv.fs_stat(self.dir .. "/index")
  if stat and vim.uv.fs_copyfile(self.dir .. "/index", self.index) then
    vim.uv.fs_utime(self.index, stat.mtime.sec, stat.mtime.sec)
  end
end

-- Leaves the index to the next process.
function Store:close()
  vim.uv.fs_rename(self.index, self.dir .. "/index")
  vim.uv.fs_unlink(self.index .. ".lock")
end

local function is_unreadable(path)
  local stat = vim.uv.fs_lstat(path)
  return stat and stat.type == "file" and not vim.uv.fs_access(path, "R")
end

-- Brings the index up to date with the files. It has neither ignored files nor nested repositories.
function Store:update_index()
  vim.uv.fs_unlink(self.index .. ".lock") -- of a git that was killed
  local gone, changed = {}, {}
  for _, path in ipairs(self.git:items({ "ls-files", "-z", "-m", "-d" })) do
    local full = self.root .. "/" .. path
    local stat, parent = vim.uv.fs_lstat(full), vim.fs.dirname(full)
    local is_gone = not stat or stat.type ~= "file" and stat.type ~= "link" or vim.uv.fs_realpath(parent) ~= parent -- its folder is a link now
    local list = is_gone and gone or changed
    list[#list + 1] = path
  end
  for _, path in ipairs(self.git:items({ "ls-files", "-z", "-o", "--exclude-standard" })) do
    if path:sub(-1) ~= "/" then -- else a repository
      changed[#changed + 1] = path
    end
  end
  if #gone > 0 then
    self.git:run({ "update-index", "--force-remove", "-z", "--stdin" }, table.concat(gone, "\0") .. "\0")
  end
  local function add(paths)
    return #paths == 0 and { code = 0 } or self.git:try({ "update-index", "--add", "--remove", "--replace", "-z", "--stdin" }, table.concat(paths, "\0") .. "\0")
  end
  local out = add(changed)
  if out.code ~= 0 then
    out = add(vim.tbl_filter(function(path)
      return not is_unreadable(self.root .. "/" .. path)
    end, changed))
  end
  if out.code ~= 0 then
    error({ text = S.git_failed:format("update-index", vim.trim(out.stderr or ""):match("[^\n]*$")) }, 0)
  end
end

-- Returns a new commit of the current files. Its objects stay until the index is deleted.
function Store:snapshot(message)
  self:update_index()
  local out = self.git:try({ "write-tree" })
  if out.code ~= 0 then -- objects of the index were lost: read all files again
    vim.uv.fs_unlink(self.index)
    self:update_index()
    out = { stdout = self.git:run({ "write-tree" }) }
  end
  local commit = vim.trim(self.git:run({ "commit-tree", vim.trim(out.stdout), "-F", "-" }, message .. "\n"))
  self:set_ref("refs/index/" .. self.name, commit)
  return commit
end

function Store:set_ref(ref, oid)
  self.git:run({ "update-ref", ref, oid })
end

-- Deletes the sides of a snapshot. One that can't be deleted stays.
function Store:delete_refs(name, sides)
  for _, side in ipairs(sides) do
    self.git:try({ "update-ref", "-d", name .. "/" .. side })
  end
end

local function mode_of(state)
  return state.kind == "link" and "120000" or state.executable and "100755" or "100644"
end

-- Returns a new commit: another one with the states of some files. states: a list of { path, state }; a file replaces a
-- folder of its name.
function Store:overlay(commit, states, message)
  local env, lines = { GIT_INDEX_FILE = self.index .. ".overlay" }, {}
  self.git:run({ "read-tree", commit }, nil, env)
  for _, each in ipairs(states) do
    local path, state = each[1], each[2]
    if state.kind == "absent" then
      lines[#lines + 1] = ("0 %s\t"):format(("0"):rep(40)) .. path .. "\0"
    elseif state.kind == "file" or state.kind == "link" then
      lines[#lines + 1] = ("%s %s\t"):format(mode_of(state), state.oid or self:put(state.data)) .. path .. "\0"
    end
  end
  self.git:run({ "update-index", "--replace", "-z", "--index-info" }, table.concat(lines), env)
  local tree = vim.trim(self.git:run({ "write-tree" }, nil, env))
  vim.uv.fs_unlink(env.GIT_INDEX_FILE)
  return vim.trim(self.git:run({ "commit-tree", tree, "-F", "-" }, message .. "\n"))
end

-- Stores a text as an object and returns its id.
function Store:put(text)
  return vim.trim(self.git:run({ "hash-object", "-w", "--no-filters", "--stdin" }, text))
end

-- Returns the sizes of objects by their ids.
function Store:sizes(oids)
  local sizes = {}
  local out = #oids > 0 and self.git:run({ "cat-file", "--batch-check" }, table.concat(oids, "\n") .. "\n") or ""
  for oid, size in out:gmatch("(%x+) %a+ (%d+)\n") do
    sizes[oid] = tonumber(size)
  end
  return sizes
end

-- Returns the contents of objects by their ids.
function Store:read(oids)
  local contents = {}
  if #oids == 0 then
    return contents
  end
  local out, at = self.git:run({ "cat-file", "--batch" }, table.concat(oids, "\n") .. "\n"), 1
  for _, oid in ipairs(oids) do
    local line_end = assert(out:find("\n", at, true))
    local size = tonumber(out:sub(at, line_end - 1):match("^%x+ %a+ (%d+)$"))
    if not size then
      error({ text = S.git_failed:format("cat-file", out:sub(at, line_end - 1)) }, 0)
    end
    contents[oid] = out:sub(line_end + 1, line_end + size)
    at = line_end + size + 2
  end
  return contents
end

-- Returns what the snapshot does not cover, as records for info: i ignored, n a repository, e an empty folder.
function Store:outside()
  local records = {}
  for _, path in ipairs(self.git:items({ "ls-files", "-z", "-o", "-i", "--directory", "--exclude-standard" })) do
    records[#records + 1] = "i" .. path
  end
  for _, path in ipairs(self.git:items({ "ls-files", "-z", "-o", "--directory", "--exclude-standard" })) do
    local kind = vim.uv.fs_lstat(self.root .. "/" .. path .. ".git") and "n" or "e"
    if path:sub(-1) == "/" then
      records[#records + 1] = kind .. path
    end
  end
  return records
end

-- Lets the editor handle its events.
local function pause()
  local co = assert(coroutine.running())
  vim.defer_fn(function()
    assert(coroutine.resume(co))
  end, 1)
  coroutine.yield()
end

-- Returns the permissions of the files of the snapshot, which git does not keep, as records for info: d those that most
-- files have, with and without the executable bit, and m those of the others.
function Store:modes()
  local by_mode, default, records = {}, {}, {}
  for i, path in ipairs(self.git:items({ "ls-files", "-z" })) do
    local stat = vim.uv.fs_lstat(self.root .. "/" .. path)
    if stat and stat.type == "file" then
      local mode = bit.band(stat.mode, tonumber("777", 8))
      by_mode[mode] = by_mode[mode] or {}
      table.insert(by_mode[mode], path)
    end
    if i % 1000 == 0 then
      pause()
    end
  end
  for mode, paths in pairs(by_mode) do
    local kind = bit.band(mode, 64)
    if not default[kind] or #paths > #by_mode[default[kind]] then
      default[kind] = mode
    end
  end
  for mode, paths in pairs(by_mode) do
    if default[bit.band(mode, 64)] == mode then
      records[#records + 1] = ("d%o"):format(mode)
    else
      for _, path in ipairs(paths) do
        records[#records + 1] = ("m%o %s"):format(mode, path)
      end
    end
  end
  return records
end

-- Returns the snapshots below a ref, the oldest first: { name, time, text, before, after, info, writing, unfinished }. Those
-- without both sides are omitted; with left, only those without a side after are returned.
function Store:list(prefix, left)
  local by_name, list = {}, {}
  local format = "--format=%(refname)%00%(objectname)%00%(contents)%00"
  local items = vim.split(self.git:run({ "for-each-ref", format, prefix }), "\0", { plain = true })
  for i = 1, #items - 2, 3 do
    local ref, oid, message = vim.trim(items[i]), items[i + 1], items[i + 2]
    local name, side = ref:match("^(.*)/(%l+)$")
    local entry = by_name[name] or { name = name }
    by_name[name], entry[side] = entry, oid
    if side == "before" then
      entry.time, entry.text = message:match("^(%d+)\n(.-)\n*$")
      entry.time = tonumber(entry.time) or 0
    elseif side == "after" then
      entry.unfinished = message:match("^%d+\n(.-)\n*$") == self.UNFINISHED
    end
  end
  for _, entry in pairs(by_name) do
    if entry.before and (entry.after == nil) == (left == true) then
      list[#list + 1] = entry
    end
  end
  table.sort(list, function(a, b)
    return a.time < b.time
  end)
  return list
end

-- Returns the part of a ref that is the same for all sides of a snapshot.
local function group_of(ref)
  return ref:match("^(refs/turns/.*)/%l+$") or ref:match("^(refs/und%l+/.*)/%l+$") or ref
end

-- Returns the refs of snapshots that are old, or too many. The refs of the indexes are not counted.
function Store:old_refs()
  local now, count, is_old = os.time(), 0, {}
  local lines = vim.split(self.git:run({ "for-each-ref", "--sort=-creatordate", "--format=%(creatordate:unix) %(refname)" }), "\n", { trimempty = true })
  for _, line in ipairs(lines) do
    local time, ref = line:match("^(%d*) (.*)$")
    local group = group_of(ref)
    if time ~= "" and is_old[group] == nil then
      local is_index = vim.startswith(ref, "refs/index/")
      count = count + (is_index and 0 or 1)
      is_old[group] = now - tonumber(time) > MAX_AGE or not is_index and count > MAX_REFS
    end
  end
  return vim.tbl_filter(function(ref)
    return is_old[group_of(ref)] and ref ~= "refs/index/" .. self.name
  end, vim.tbl_map(function(line)
    return line:match(" (.*)$")
  end, lines))
end

-- Deletes what killed processes have left.
function Store:clean_files()
  local now = os.time()
  for name in vim.fs.dir(self.dir) do
    local path, is_index = self.dir .. "/" .. name, name:find("^index%.") ~= nil
    local stat = (is_index or name:find("^merge%.")) and not name:find(self.name, 1, true) and vim.uv.fs_stat(path)
    if stat and now - stat.mtime.sec > (is_index and MAX_AGE or DAY) then
      vim.fn.delete(path, "rf")
    end
  end
end

-- Deletes old refs, and once a day the objects that no ref needs. Objects of the last day stay, since another editor
-- may be writing them.
function Store:clean()
  local refs = self:old_refs()
  local delete = table.concat(vim.tbl_map(function(ref)
    return ("delete %s\n"):format(ref)
  end, refs))
  if #refs > 0 and self.git:try({ "update-ref", "--stdin" }, delete).code ~= 0 then
    for _, ref in ipairs(refs) do -- one of them is locked
      self.git:try({ "update-ref", "-d", ref })
    end
  end
  self:clean_files()
  local last = vim.uv.fs_stat(self.dir .. "/cleaned")
  if last and os.time() - last.mtime.sec <= DAY or self.is_collecting then
    return
  end
  write(self.dir .. "/cleaned", "")
  if last then
    self.is_collecting = true
    coroutine.wrap(function() -- a message does not wait for it
      self.git:try({ "gc", "--quiet", "--prune=1.day.ago" })
      self.is_collecting = false
    end)()
  end
end

-- Leaves the indexes of all stores to the next process.
function M.close_all()
  for _, store in pairs(stores) do
    store:close()
  end
end

return M
