-- Computes file states. A state is { kind = "absent" }, { kind = "file", data, executable } or { kind = "link", data };
-- the state of a file on the disk may also be a "folder" or "special".
local M = {}

local MAX_HUNKS_SIZE = 1024 * 1024

M.absent = { kind = "absent" }

function M.is_same(a, b)
  return a.kind == b.kind and a.data == b.data and (a.executable or false) == (b.executable or false)
end

function M.is_binary(text)
  return text:find("\0", 1, true) ~= nil
end

-- Returns the lines of a text with their ends.
local function lines_of(text)
  local lines, at = {}, 1
  while at <= #text do
    local line_end = text:find("\n", at, true) or #text
    lines[#lines + 1] = text:sub(at, line_end)
    at = line_end + 1
  end
  return lines
end
M.lines_of = lines_of

-- Returns the text after with some hunks reversed.
function M.reverse(before, after, hunks, undone)
  local old, new, out, at = lines_of(before), lines_of(after), {}, 1
  for i, hunk in ipairs(hunks) do
    vim.list_extend(out, new, at, hunk.after - 1)
    if undone[i] then
      vim.list_extend(out, old, hunk.before, hunk.before + hunk.removed - 1)
    else
      vim.list_extend(out, new, hunk.after, hunk.after + hunk.added - 1)
    end
    at = hunk.after + hunk.added
  end
  return table.concat(vim.list_extend(out, new, at))
end

-- Returns the hunks between two texts: { before, removed, after, added } are line numbers and counts. It returns nil
-- for texts that are shown as a whole.
function M.hunks(before, after)
  if #before + #after > MAX_HUNKS_SIZE or M.is_binary(before) or M.is_binary(after) then
    return nil
  end
  local hunks, all = {}, {}
  for i, hunk in ipairs(vim.diff(before, after, { result_type = "indices" })) do
    local from, removed, to, added = unpack(hunk)
    hunks[i] = { before = removed == 0 and from + 1 or from, removed = removed, after = added == 0 and to + 1 or to, added = added }
    all[i] = true
  end
  local complete = M.reverse(before, after, hunks, all) == before
  return complete and hunks or { { before = 1, removed = #lines_of(before), after = 1, added = #lines_of(after) } }
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  assert(file:close())
end

-- Returns the text current with the changes from base to target, or nil if they touch the same lines. It runs in a
-- coroutine of the store.
function M.merge_text(store, current, base, target)
  if current == base or current == target then
    return target
  elseif base == target then
    return current
  elseif M.is_binary(current) or M.is_binary(base) or M.is_binary(target) then
    return nil
  end
  local folder = ("%s/merge.%s"):format(store.dir, store.name)
  vim.fn.mkdir(folder, "p", tonumber("700", 8))
  write(folder .. "/current", current)
  write(folder .. "/base", base)
  write(folder .. "/target", target)
  local out = store.git:try({ "merge-file", "-p", "-q", folder .. "/current", folder .. "/base", folder .. "/target" })
  vim.fn.delete(folder, "rf")
  return out.code == 0 and out.stdout or nil
end

-- Returns the state current with the changes from base to target, or nil if they conflict.
function M.merge(store, current, base, target)
  if current.kind == "folder" and base.kind == "absent" then
    current = M.absent -- the write refuses it, if the folder is still there
  end
  if M.is_same(current, base) or M.is_same(current, target) then
    return target
  elseif M.is_same(base, target) then
    return current
  elseif current.kind ~= "file" or base.kind ~= "file" or target.kind ~= "file" then
    return nil
  end
  local data = M.merge_text(store, current.data, base.data, target.data)
  local executable = current.executable
  if current.executable == base.executable then
    executable = target.executable
  end
  return data and { kind = "file", data = data, executable = executable }
end

return M
