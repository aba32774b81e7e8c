-- Reads and writes the files of a workspace: through their buffers where they are open, else atomically. It never
-- writes outside of the root, and never over a state that the caller has not seen.
local buffer = require("codex-bridge.checkpoint.buffer")
local merge = require("codex-bridge.checkpoint.merge")
local owner = require("codex-bridge.checkpoint.owner")
local S = require("codex-bridge.strings")

local M = {}

local uv = vim.uv

M.MAX_SIZE = 32 * 1024 * 1024 -- larger files are not read

-- Reports whether a path of a snapshot may be written: relative, and not in a repository's own folder.
function M.is_valid(path)
  for name in (path .. "/"):gmatch("([^/]*)/") do
    if name == "" or name == "." or name == ".." or name:lower() == ".git" then
      return false
    end
  end
  return not path:find("\0", 1, true)
end

local function read(path, size)
  local fd = uv.fs_open(path, "r", 0)
  local data = fd and uv.fs_read(fd, size, 0)
  if fd then
    uv.fs_close(fd)
  end
  return data
end

-- Returns the folder of a path if it is really below the root, without a link.
local function real_parent(root, path)
  local parent = vim.fs.dirname(root .. "/" .. path)
  return uv.fs_realpath(parent) == parent and parent or nil
end

-- Returns the state on the disk. stat is the result of lstat.
local function disk_state(root, path)
  local full = root .. "/" .. path
  local stat = real_parent(root, path) and uv.fs_lstat(full)
  if not stat then
    return merge.absent
  elseif stat.type == "directory" then
    return { kind = "folder" }
  elseif stat.type == "link" then
    return { kind = "link", data = uv.fs_readlink(full) }
  elseif stat.type ~= "file" then
    return { kind = "special" }
  end
  local data = stat.size <= M.MAX_SIZE and read(full, stat.size)
  if not data then
    return { kind = "special" }
  end
  return { kind = "file", data = data, executable = bit.band(stat.mode, 64) ~= 0, stat = stat }
end

-- Returns the state of a file: that of its unsaved buffer if there is one, else that on the disk. With buf and
-- is_modified: the buffer has this state. With problem: the file can't be changed.
function M.state(root, path)
  local disk = disk_state(root, path)
  if disk.kind ~= "file" and disk.kind ~= "absent" then
    return disk
  end
  local buffers = buffer.of(root .. "/" .. path)
  local modified = vim.tbl_filter(function(buf)
    return vim.bo[buf].modified
  end, buffers)
  if #modified == 0 then
    local buf = buffers[1]
    if #buffers == 1 and disk.kind == "file" and buffer.bytes(buf) == disk.data then
      disk.buf = buf
    end
    return disk
  end
  local state = { kind = "file", executable = disk.executable or false, stat = disk.stat, buf = modified[1], is_modified = true }
  state.data = buffer.bytes(state.buf)
  if #modified > 1 or not state.data then
    state.problem = #modified > 1 and S.open_twice or S.not_exact
    state.data = state.data or ""
  end
  return state
end

local function fail(reason)
  error({ text = reason }, 0)
end

-- Creates the folders of a path. Each must be a real folder.
local function make_parent(root, path)
  local folder = root
  for name in path:gmatch("([^/]+)/") do
    folder = folder .. "/" .. name
    local stat = uv.fs_lstat(folder)
    if not stat then
      uv.fs_mkdir(folder, tonumber("777", 8))
      stat = uv.fs_lstat(folder)
    end
    if not stat or stat.type ~= "directory" then
      fail(S.no_parent)
    end
  end
  if uv.fs_realpath(folder) ~= folder then
    fail(S.no_parent)
  end
  return folder
end

-- Returns the permissions of a new state: those of the file before, else those of the target, with the executable bits of
-- the target.
local function permissions(old, target)
  local mode = bit.band(old and old.mode or target.mode or tonumber("666", 8), tonumber("777", 8))
  local executable = bit.band(mode, 64) ~= 0
  if target.executable and not executable then
    mode = bit.bor(mode, bit.rshift(bit.band(mode, tonumber("444", 8)), 2))
  elseif executable and not target.executable then
    mode = bit.band(mode, tonumber("666", 8))
  end
  return mode
end

-- Writes a temporary file beside path and renames it.
local function replace(root, path, old, target)
  local parent = make_parent(root, path)
  local full = root .. "/" .. path
  local random = vim.fn.sha256(vim.base64.encode(assert(uv.random(16)))):sub(1, 12)
  local temporary = parent .. "/" .. owner.prefix(owner.id()) .. random
  local ok, err
  if target.kind == "link" then
    ok, err = uv.fs_symlink(target.data, temporary)
  else
    local fd
    fd, err = uv.fs_open(temporary, "wx", permissions(old, target)) -- less the umask
    if fd then
      local written
      written, err = uv.fs_write(fd, target.data, 0)
      ok = written == #target.data and (not (old or target.mode) or uv.fs_fchmod(fd, permissions(old, target))) and uv.fs_fsync(fd)
      if ok and old then
        uv.fs_fchown(fd, old.uid, old.gid) -- fails unless the user may do so
      end
      uv.fs_close(fd)
    end
  end
  -- A folder that became a link meanwhile must not lead outside.
  if ok and real_parent(root, path) == parent then
    ok, err = uv.fs_rename(temporary, full)
    if ok then
      return
    end
  end
  uv.fs_unlink(temporary)
  fail(err or S.no_parent)
end

-- Deletes the temporary files that a killed editor has left in the folder of a path.
function M.remove_left(root, path, id)
  local parent = real_parent(root, path)
  for name in parent and vim.fs.dir(parent) or function() end do
    if vim.startswith(name, owner.prefix(id)) then
      uv.fs_unlink(parent .. "/" .. name)
    end
  end
end

-- Deletes a file, and the folders that are then empty, unless keeps[folder] says that they were there before.
local function delete(root, path, keeps)
  local ok, err = uv.fs_unlink(root .. "/" .. path)
  if not ok then
    fail(err)
  end
  local folder = vim.fs.dirname(path)
  while folder ~= "." and not keeps[folder .. "/"] and uv.fs_rmdir(root .. "/" .. folder) do
    folder = vim.fs.dirname(folder)
  end
end

-- Writes an unmodified buffer without autocommands, which could change its text.
local function write_buffer(state, target)
  local buf = state.buf
  if not buffer.set(buf, target.data) then
    return false
  end
  local o, backup, patchmode = vim.bo[buf], vim.o.backup, vim.o.patchmode
  local fix, readonly = o.fixendofline, o.readonly
  o.fixendofline, o.readonly, vim.o.backup, vim.o.patchmode = false, false, false, ""
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent noautocmd keepalt keepjumps lockmarks write!")
  end)
  o.fixendofline, o.readonly, vim.o.backup, vim.o.patchmode = fix, readonly, backup, patchmode
  if not ok then
    fail(tostring(err))
  end
  return true
end

-- Reloads the buffers of a file that was written on the disk.
local function reload(path)
  for _, buf in ipairs(buffer.of(path)) do
    if not vim.bo[buf].modified and uv.fs_lstat(path) then
      local autoread = vim.bo[buf].autoread
      vim.bo[buf].autoread = true
      vim.cmd.checktime({ args = { tostring(buf) } })
      vim.bo[buf].autoread = autoread
    end
  end
end

-- Changes a file from a state that M.state returned to the target state. It raises { text } and writes nothing if the
-- file has another state now.
function M.write(root, path, seen, target, keeps)
  local state = M.state(root, path)
  if not M.is_valid(path) then
    fail(S.not_in_root)
  elseif state.problem then
    fail(state.problem)
  elseif state.kind == "folder" or state.kind == "special" then
    fail(S.now_a[state.kind])
  elseif not (merge.is_same(state, seen) or seen.kind == "folder" and state.kind == "absent") or (state.is_modified or false) ~= (seen.is_modified or false) then
    fail(S.changed_meanwhile)
  elseif merge.is_same(state, target) then
    return
  end
  local full = root .. "/" .. path
  if state.is_modified and target.kind ~= "file" and not merge.is_same(disk_state(root, path), state) then
    fail(S.changed_meanwhile) -- the file on the disk is another one than the buffer, or outside of the root
  elseif state.is_modified and target.kind == "file" then
    if state.data ~= target.data and not buffer.set(state.buf, target.data) then
      fail(S.not_exact)
    end
    if state.executable ~= target.executable and state.stat then
      uv.fs_chmod(full, permissions(state.stat, target))
    end
    return
  elseif target.kind == "absent" then
    return delete(root, path, keeps or {})
  end
  local in_buffer = state.buf and target.kind == "file" and state.data ~= target.data and state.stat.nlink == 1 and write_buffer(state, target)
  if not in_buffer then
    replace(root, path, state.stat, target)
    reload(full)
  end
  local now = disk_state(root, path)
  if in_buffer and now.kind == "file" and now.data == target.data and now.executable ~= target.executable then
    uv.fs_chmod(full, permissions(now.stat, target))
    now = disk_state(root, path)
  end
  if not merge.is_same(now, target) then
    fail(S.changed_meanwhile)
  end
end

return M
