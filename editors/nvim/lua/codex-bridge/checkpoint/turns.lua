-- The changes between two snapshots, and their undo. All functions but plan_state run in a coroutine of the store.
local file = require("codex-bridge.checkpoint.file")
local merge = require("codex-bridge.checkpoint.merge")
local S = require("codex-bridge.strings")

local M = {}

M.MAX_TOTAL = 8 * file.MAX_SIZE -- of the contents of a turn; the files after that are not covered

local KINDS = { i = "ignored", n = "nested", e = "empty", s = "saved", x = "inseparable", b = "before", a = "after", p = "process" }

-- Parses the records of an info object, see Store:outside. s: the user saved this file; x: and its changes can't be
-- told from those of the turn; b and a: another content before and after.
local function parse_info(text)
  local info = { ignored = {}, nested = {}, empty = {}, saved = {}, inseparable = {}, before = {}, after = {}, process = {} }
  for _, record in ipairs(vim.split(text, "\0", { plain = true, trimempty = true })) do
    local kind, value = KINDS[record:sub(1, 1)], record:sub(2)
    if kind == "before" or kind == "after" then
      local oid, path = value:match("^(%x+) (.*)$")
      info[kind][path] = oid
    elseif kind then
      info[kind][value] = true
    end
  end
  return info
end

-- Returns the record of the process in which a turn runs.
function M.owner()
  return "p" .. vim.uv.os_getpid()
end

local function is_alive(pid)
  local ok, _, code = vim.uv.kill(pid, 0)
  return ok == 0 or code == "EPERM"
end

-- Gives the turns that a closed editor has left a snapshot after them. commit: the current files.
function M.end_left(store, commit)
  for _, turn in ipairs(store:list("refs/turns", true)) do
    local info = parse_info(turn.info and store:read({ turn.info })[turn.info] or "")
    local pid = tonumber((next(info.process)))
    if not (pid and is_alive(pid)) then
      local tree = commit .. "^{tree}"
      local after = vim.trim(store.git:run({ "commit-tree", tree, "-F", "-" }, ("%d\n%s\n"):format(turn.time, store.UNFINISHED)))
      store:set_ref(turn.name .. "/after", after)
    end
  end
end

-- Reports whether a path was there before, but was not covered.
local function is_outside(info, path)
  if info.ignored[path] then
    return true
  end
  local at = 0
  while true do
    at = path:find("/", at + 1, true)
    if not at then
      return false
    elseif info.ignored[path:sub(1, at)] or info.nested[path:sub(1, at)] then
      return true
    end
  end
end

-- Returns the files that differ between the snapshots of record, in the order of their names, and the paths that are
-- not covered. A file is { path, before, after, saved, inseparable, hunks, undone, kept }.
function M.files(store, record)
  local info = parse_info(record.info and store:read({ record.info })[record.info] or "")
  local items = store.git:items({
    "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv",
    "--ignore-submodules=all", record.before, record.after,
  })
  local sides, oids, uncovered = {}, {}, vim.tbl_keys(info.nested)
  for i = 1, #items - 1, 2 do
    local old_mode, new_mode, old, new = items[i]:match("^:(%d+) (%d+) (%x+) (%x+)")
    local path = items[i + 1]
    if old_mode == "160000" or new_mode == "160000" or not file.is_valid(path) or old_mode == "000000" and is_outside(info, path) then
      uncovered[#uncovered + 1] = path
    else
      sides[path] = { before = { old_mode, old }, after = { new_mode, new } }
    end
  end
  for _, side in ipairs({ "before", "after" }) do
    for path, oid in pairs(info[side]) do
      sides[path] = sides[path] or { before = { "000000" }, after = { "000000" } }
      local mode = sides[path][side][1]
      sides[path][side] = { mode == "000000" and "100644" or mode, oid }
    end
  end
  local function oids_of(pair)
    return vim.tbl_map(function(side)
      return side[1] ~= "000000" and side[2] or nil
    end, { pair.before, pair.after })
  end
  for _, pair in pairs(sides) do
    vim.list_extend(oids, vim.tbl_values(oids_of(pair)))
  end
  local sizes, total = store:sizes(oids), 0
  local paths = vim.tbl_keys(sides)
  table.sort(paths)
  oids = {}
  for _, path in ipairs(paths) do
    local mine, largest = vim.tbl_values(oids_of(sides[path])), 0
    for _, oid in ipairs(mine) do
      total, largest = total + (sizes[oid] or 0), math.max(largest, sizes[oid] or 0)
    end
    if largest > file.MAX_SIZE or total > M.MAX_TOTAL then
      sides[path], uncovered[#uncovered + 1] = nil, path
    else
      vim.list_extend(oids, mine)
    end
  end
  local contents, files = store:read(oids), {}
  local function state(side)
    if side[1] == "000000" then
      return merge.absent
    end
    return { kind = side[1] == "120000" and "link" or "file", data = contents[side[2]], executable = side[1] == "100755" }
  end
  for path, pair in pairs(sides) do
    local f = {
      path = path, before = state(pair.before), after = state(pair.after), undone = {}, kept = {},
      saved = info.saved[path], inseparable = info.inseparable[path], empty = info.empty,
    }
    if not merge.is_same(f.before, f.after) then
      local has_text = f.before.kind ~= "link" and f.after.kind ~= "link"
      f.hunks = has_text and merge.hunks(f.before.data or "", f.after.data or "") or nil
      files[#files + 1] = f
    end
  end
  table.sort(files, function(a, b)
    return a.path < b.path
  end)
  table.sort(uncovered)
  return { files = files, uncovered = uncovered, empty = info.empty }
end

-- Returns the state after the turn, less the hunks that are undone, and less hunk.
local function reversed(f, hunk)
  local undone = vim.deepcopy(f.undone)
  if hunk then
    undone[hunk] = true
  end
  if next(undone) == nil then
    return f.after
  end
  return { kind = "file", data = merge.reverse(f.before.data, f.after.data, f.hunks, undone), executable = f.after.executable }
end

-- Returns the step that undoes a file, or one of its hunks.
function M.step(f, hunk)
  local by_hunk = hunk and f.before.kind == "file" and f.after.kind == "file"
  return { base = reversed(f), target = by_hunk and reversed(f, hunk) or f.before, inseparable = f.inseparable }
end

-- Returns the plan for a path: { path, seen, result, verdict }. verdict is "same", "restored", "merged" (with edits of
-- the user), "conflict" or "refused" with a reason. steps: the newest first.
function M.plan(store, path, steps, empty)
  local seen = file.state(store.root, path)
  local plan = { path = path, seen = seen, target = steps[#steps].target, empty = empty }
  local function fail(verdict, reason)
    plan.verdict, plan.reason = verdict, reason
    return plan
  end
  if seen.problem then
    return fail("refused", seen.problem)
  elseif seen.kind == "special" then
    return fail("refused", S.now_a.special)
  end
  local result = seen
  for _, step in ipairs(steps) do
    if step.inseparable then
      return fail("conflict", S.inseparable)
    end
    result = merge.merge(store, result, step.base, step.target)
    if not result then
      return fail("conflict", seen.kind == "folder" and S.now_a.folder or S.conflict)
    end
  end
  plan.result = result
  return fail(merge.is_same(result, seen) and "same" or merge.is_same(result, plan.target) and "restored" or "merged")
end

-- Returns the plans that undo the snapshots of records, the oldest first, and the paths that are not covered.
function M.plans(store, records)
  local steps, empty, uncovered, plans = {}, {}, {}, {}
  for i = #records, 1, -1 do
    local changes = M.files(store, records[i])
    for _, f in ipairs(changes.files) do
      steps[f.path] = steps[f.path] or {}
      table.insert(steps[f.path], M.step(f))
    end
    for _, path in ipairs(changes.uncovered) do
      uncovered[path] = true
    end
    empty = changes.empty -- of the oldest
  end
  local paths = vim.tbl_keys(steps)
  table.sort(paths)
  for _, path in ipairs(paths) do
    plans[#plans + 1] = M.plan(store, path, steps[path], empty)
  end
  uncovered = vim.tbl_keys(uncovered)
  table.sort(uncovered)
  return plans, uncovered
end

-- Returns plans in the order of writing: deletions come first, so that a file can replace a folder.
local function ordered(plans)
  local list = vim.tbl_filter(function(plan)
    return plan.verdict == "restored" or plan.verdict == "merged"
  end, plans)
  table.sort(list, function(a, b)
    local a_deletes, b_deletes = a.result.kind == "absent", b.result.kind == "absent"
    if a_deletes ~= b_deletes then
      return a_deletes
    end
    return a_deletes and a.path > b.path or not a_deletes and a.path < b.path
  end)
  return list
end

-- Writes plans, between two snapshots below refs/<name>. It raises, and writes nothing, without the first one. A plan
-- whose write fails gets the verdict "refused".
function M.apply(store, plans, name)
  local list = ordered(plans)
  if #list == 0 then
    return
  end
  local time = require("codex-bridge.checkpoint.store").now()
  local ref = ("refs/%s/%d-%s"):format(name, time, store.name)
  store:set_ref(ref .. "/before", store:snapshot(("%d\n%s"):format(time, name)))
  local info = {}
  for _, plan in ipairs(list) do
    if plan.seen.is_modified then
      info[#info + 1] = ("b%s %s"):format(store:put(plan.seen.data), plan.path)
    end
  end
  for folder in pairs(list[1].empty or {}) do
    info[#info + 1] = "e" .. folder
  end
  local is_written = false
  for _, plan in ipairs(list) do
    local ok, err = pcall(file.write, store.root, plan.path, plan.seen, plan.result, plan.empty)
    if not ok then
      plan.verdict, plan.reason = "refused", type(err) == "table" and err.text or tostring(err)
    end
    is_written = is_written or ok
  end
  if not is_written then
    return store.git:run({ "update-ref", "-d", ref .. "/before" })
  end
  for _, plan in ipairs(list) do
    if plan.seen.is_modified then
      local data = plan.verdict ~= "refused" and plan.result.data or plan.seen.data
      info[#info + 1] = ("a%s %s"):format(store:put(data), plan.path)
    end
  end
  store:set_ref(ref .. "/after", store:snapshot(("%d\n%s"):format(time, name)))
  store:set_ref(ref .. "/info", store:put(table.concat(info, "\0")))
end

-- Returns the records s, x and b for files that the user saved during a turn: the content before the turn, with what
-- the user changed. saves[path] is a list of { pre, post }, the contents on the disk around a save.
function M.saved_records(store, before, saves)
  local records = {}
  for path, list in pairs(saves) do
    records[#records + 1] = "s" .. path
    local out = store.git:run({ "ls-tree", "-z", before, "--", path })
    local oid = out:match("^100%d+ blob (%x+)\t")
    local original = oid and store:read({ oid })[oid]
    local text = original or list[1].pre == nil and "" or nil
    for _, save in ipairs(list) do
      text = text and merge.merge_text(store, text, save.pre or "", save.post)
    end
    if not text then
      records[#records + 1] = "x" .. path
    elseif text ~= original then
      records[#records + 1] = ("b%s %s"):format(store:put(text), path)
    end
  end
  return records
end

return M
