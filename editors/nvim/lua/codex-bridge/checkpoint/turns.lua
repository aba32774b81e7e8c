-- The changes between two snapshots, and their undo. All functions but plan_state run in a coroutine of the store.
local file = require("codex-bridge.checkpoint.file")
local merge = require("codex-bridge.checkpoint.merge")
local owner = require("codex-bridge.checkpoint.owner")
local S = require("codex-bridge.strings")

local M = {}

M.MAX_TOTAL = 8 * file.MAX_SIZE -- of the contents of a turn; the files after that are not covered

local KINDS = { i = "ignored", n = "nested", e = "empty", s = "saved", x = "inseparable", b = "before", a = "after", m = "mode", t = "target_mode", d = "default", p = "owner" }

-- Parses the records of an info object, see Store:outside and Store:modes. s: the user saved this file; x: and its changes
-- can't be told from those of the turn; b and a: another content before and after; m and t: permissions before and after.
local function parse_info(text)
  local info = { mode = {}, target_mode = {}, default = {} }
  for _, kind in pairs(KINDS) do
    info[kind] = info[kind] or {}
  end
  for _, record in ipairs(vim.split(text, "\0", { plain = true, trimempty = true })) do
    local kind, value = KINDS[record:sub(1, 1)], record:sub(2)
    local id, path = value:match("^(%x+) (.*)$")
    if kind == "before" or kind == "after" then
      info[kind][path] = id
    elseif kind == "mode" or kind == "target_mode" then
      info[kind][path] = tonumber(id, 8)
    elseif kind == "default" then
      local mode = tonumber(value, 8)
      info.default[bit.band(mode, 64) ~= 0] = mode
    elseif kind then
      info[kind][value] = true
    end
  end
  return info
end

-- Returns the record of the editor in which a turn runs.
function M.owner()
  return "p" .. owner.id()
end

-- Gives the turns that a closed editor has left a snapshot after them. commit: the current files.
function M.end_left(store, commit)
  for _, turn in ipairs(store:list("refs/turns", true)) do
    local info = parse_info(turn.info and store:read({ turn.info })[turn.info] or "")
    local id = next(info.owner)
    if not (id and owner.is_alive(id)) then
      local tree = commit .. "^{tree}"
      local after = vim.trim(store.git:run({ "commit-tree", tree, "-F", "-" }, ("%d\n%s\n"):format(turn.time, store.UNFINISHED)))
      store.git:try({ "update-ref", turn.name .. "/after", after, ("0"):rep(40) }) -- unless it is there by now
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
  local function state(side, mode)
    if side[1] == "000000" then
      return merge.absent
    end
    local executable = side[1] == "100755"
    return {
      kind = side[1] == "120000" and "link" or "file", data = contents[side[2]], executable = executable, oid = side[2],
      mode = mode or info.default[executable],
    }
  end
  for path, pair in pairs(sides) do
    local f = {
      path = path, before = state(pair.before, info.mode[path]), after = state(pair.after, info.target_mode[path]), undone = {}, kept = {},
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
  seen.oid = merge.is_same(seen, steps[1].base) and steps[1].base.oid or nil
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

-- Returns the plans that undo the snapshots of records, the oldest first, and the paths that are not covered. forward: the
-- plans do the changes again.
function M.plans(store, records, forward)
  local steps, empty, uncovered, plans = {}, {}, {}, {}
  for i = #records, 1, -1 do
    local changes = M.files(store, records[i])
    for _, f in ipairs(changes.files) do
      steps[f.path] = steps[f.path] or {}
      table.insert(steps[f.path], forward and { base = f.before, target = f.after } or M.step(f))
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

-- Returns the records of info for plans: the permissions before and after, and the empty folders.
local function info_of(list)
  local info = {}
  for _, plan in ipairs(list) do
    if plan.seen.stat then
      info[#info + 1] = ("m%o %s"):format(bit.band(plan.seen.stat.mode, tonumber("777", 8)), plan.path)
    end
    if plan.result.mode then
      info[#info + 1] = ("t%o %s"):format(plan.result.mode, plan.path)
    end
  end
  for folder in pairs(list[1].empty or {}) do
    info[#info + 1] = "e" .. folder
  end
  return info
end

-- Returns the states of plans for Store:overlay. side: "seen" or "result".
local function states_of(list, side)
  return vim.tbl_map(function(plan)
    return { plan.path, plan[side] }
  end, list)
end

-- Writes plans, between two snapshots below refs/<name>. It raises, and writes nothing, without them. A plan whose write
-- fails gets the verdict "refused". The snapshots are complete before the first write, so that nothing is lost if the
-- editor is killed; until the last one, "writing" names the editor.
function M.apply(store, plans, name)
  local list = ordered(plans)
  if #list == 0 then
    return
  end
  local time = require("codex-bridge.checkpoint.store").now()
  local ref, text = ("refs/%s/%d-%s"):format(name, time, store.name), ("%d\n%s"):format(time, name)
  local before = store:overlay(store:snapshot(text), states_of(list, "seen"), text)
  store:set_ref(ref .. "/writing", store:put(owner.id()))
  store:set_ref(ref .. "/info", store:put(table.concat(info_of(list), "\0")))
  store:set_ref(ref .. "/before", before)
  store:set_ref(ref .. "/after", store:overlay(before, states_of(list, "result"), text))
  local written = {}
  for _, plan in ipairs(list) do
    local ok, err = pcall(file.write, store.root, plan.path, plan.seen, plan.result, plan.empty)
    if ok then
      written[#written + 1] = plan
    else
      plan.verdict, plan.reason = "refused", type(err) == "table" and err.text or tostring(err)
    end
  end
  if #written == 0 then
    return store:delete_refs(ref, { "before", "after", "info", "writing" })
  elseif #written < #list then
    pcall(function() -- the record with all of them is safe too
      store:set_ref(ref .. "/after", store:overlay(before, states_of(written, "result"), text))
    end)
  end
  store:delete_refs(ref, { "writing" })
end

-- Returns the undos and restores that a killed editor has left, the oldest first.
function M.interrupted(store)
  return vim.tbl_filter(function(record)
    local id = record.writing and store:read({ record.writing })[record.writing]
    return id ~= nil and (id == owner.id() or not owner.is_alive(id)) -- this editor writes nothing now
  end, vim.list_extend(store:list("refs/undo"), store:list("refs/undone")))
end

-- Returns the paths that an interrupted undo or restore has written, and those that it has not. It deletes the temporary
-- files.
function M.progress(store, record)
  local written, missing = {}, {}
  local id = store:read({ record.writing })[record.writing]
  for _, f in ipairs(M.files(store, record).files) do
    local list = merge.is_same(file.state(store.root, f.path), f.after) and written or missing
    list[#list + 1] = f.path
    file.remove_left(store.root, f.path, id)
  end
  return written, missing
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
