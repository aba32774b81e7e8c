-- Runs git on the private store of a workspace. It reads no configuration of the user or the workspace, so that no
-- filter, hook, driver or monitor of theirs runs. All calls are made in a coroutine, and never block the editor.
local S = require("codex-bridge.strings")

local M = {}

local Git = {}
Git.__index = Git

local OPTIONS = {
  "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.hooksPath=/dev/null",
  "-c", "core.autocrlf=false", "-c", "core.looseCompression=1", "-c", "gc.auto=0", "--literal-pathspecs",
}

-- Reports whether path is root or below it.
function M.is_below(path, root)
  return path == root or vim.startswith(path, root == "/" and "/" or root .. "/")
end

-- Returns the git program, or nil. A program of the workspace itself is not run.
function M.program(root)
  for _, folder in ipairs(vim.split(vim.env.PATH or "", vim.fn.has("win32") == 1 and ";" or ":", { plain = true })) do
    local real = (folder:find("^/") or folder:find("^%a:[/\\]")) and vim.uv.fs_realpath(folder)
    for _, name in ipairs({ "git", "git.exe" }) do
      local file = real and real .. "/" .. name
      local target = file and vim.uv.fs_realpath(file)
      if target and vim.fn.executable(file) == 1 and not M.is_below(real, root) and not M.is_below(target, root) then
        return file
      end
    end
  end
end

-- Returns a git for a store, or nil without a program.
function M.new(store, root, index)
  local program = M.program(root)
  if not program then
    return nil
  end
  local env = {}
  for name, value in pairs(vim.fn.environ()) do
    if not name:find("^GIT_") then
      env[name] = value
    end
  end
  return setmetatable({ program = program, root = root, env = vim.tbl_extend("force", env, {
    GIT_DIR = store, GIT_WORK_TREE = root, GIT_INDEX_FILE = index,
    GIT_CONFIG_GLOBAL = "/dev/null", GIT_CONFIG_NOSYSTEM = "1", GIT_ATTR_NOSYSTEM = "1",
    GIT_TERMINAL_PROMPT = "0", GIT_OPTIONAL_LOCKS = "0", LC_ALL = "C",
    GIT_AUTHOR_NAME = "codex-bridge", GIT_AUTHOR_EMAIL = "codex-bridge@localhost",
    GIT_COMMITTER_NAME = "codex-bridge", GIT_COMMITTER_EMAIL = "codex-bridge@localhost",
  }) }, Git)
end

-- Returns an environment for vim.system with clear_env, with some values replaced; false removes one. Neovim before 0.11.2
-- takes only a list of NAME=value there, and ignores the named fields. Later ones take only the named fields, and make
-- variables 1, 2, … of the list.
local function environment(env, other)
  local both = {}
  for name, value in pairs(vim.tbl_extend("force", env, other or {})) do
    if value then
      both[name] = value
      both[#both + 1] = name .. "=" .. value
    end
  end
  return both
end

local function run_once(self, args, stdin, env)
  local co = assert(coroutine.running())
  local command = vim.list_extend(vim.list_extend({ self.program }, OPTIONS), args)
  local options = { cwd = self.root, env = environment(self.env, env), clear_env = true, stdin = stdin, timeout = 600000 }
  local ok, problem = pcall(vim.system, command, options, vim.schedule_wrap(function(out)
    assert(coroutine.resume(co, out))
  end))
  return ok and coroutine.yield() or { code = 127, stdout = "", stderr = tostring(problem) }
end

-- Runs git and returns the result of vim.system. It never raises. env: other values of the environment. It tries again if
-- the gc of another editor has deleted the empty folder of a new object.
function Git:try(args, stdin, env)
  local out
  for _ = 1, 5 do
    out = run_once(self, args, stdin, env)
    if out.code == 0 or not (out.stderr or ""):find("unable to create temporary file", 1, true) then
      break
    end
  end
  return out
end

-- Runs git and returns its output. It raises { text } if git fails.
function Git:run(args, stdin, env)
  local out = self:try(args, stdin, env)
  if out.code ~= 0 then
    error({ text = S.git_failed:format(args[1], vim.trim(out.stderr or ""):match("[^\n]*$") or "") }, 0)
  end
  return out.stdout
end

-- Runs git and returns the items of its NUL-terminated output.
function Git:items(args)
  return vim.split(self:run(args), "\0", { plain = true, trimempty = true })
end

-- Returns a setting of the user's own configuration, not of a repository.
function Git:user_setting(name)
  local out = self:try({ "config", "--global", "--includes", "--type=path", "--get", name }, nil, { GIT_CONFIG_GLOBAL = false })
  return out.code == 0 and vim.trim(out.stdout) or nil
end

return M
