-- Collects the ignore patterns that hold in a workspace, beside the .gitignore files in it: those of the user, of the
-- repository around it, and of the folders above it. Files are only read.
local M = {}

local MAX_SIZE = 1024 * 1024

-- Returns the content of a regular file of at most 1 MB, else "".
local function read(path)
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= "file" or stat.size > MAX_SIZE then
    return ""
  end
  local file = io.open(path, "rb")
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return text
end

-- Returns the folder of the repository that contains root, and its git folder.
local function repository(root)
  local folder = root
  while folder do
    local git = folder .. "/.git"
    local stat = vim.uv.fs_stat(git)
    if stat and stat.type == "directory" then
      return folder, git
    elseif stat and stat.type == "file" then
      local target = read(git):match("^gitdir: ([^\n]+)")
      target = target and (target:find("^/") and target or folder .. "/" .. target)
      local common = target and vim.trim(read(target .. "/commondir"))
      if common and common ~= "" then
        target = common:find("^/") and common or target .. "/" .. common
      end
      return folder, target
    end
    local parent = vim.fs.dirname(folder)
    folder = parent ~= folder and parent or nil
  end
end

-- Reports whether a component of a pattern matches a name.
local function matches(pattern, name)
  local ok, glob = pcall(vim.glob.to_lpeg, pattern)
  return ok and glob:match(name) ~= nil
end

-- Returns a pattern of a folder as a pattern of the folder below it that path names; nil if it does not reach there.
function M.rebase(line, path)
  line = line:gsub("\r$", "")
  local negated, pattern = line:match("^(!?)(.*)$")
  if pattern == "" or pattern:find("^#") then
    return nil
  end
  local body = pattern:gsub("/%s*$", "")
  if not body:find("/", 1, true) or pattern:find("^/?%*%*/") or path == "" then
    return line -- it holds at every depth
  end
  local rest = pattern:gsub("^/", "")
  for name in path:gmatch("[^/]+") do
    local first, after = rest:match("^([^/]+)/(.+)$")
    if first == "**" then
      return negated .. "**/" .. after
    elseif not first or not matches(first, name) then
      return nil
    end
    rest = after
  end
  return negated .. "/" .. rest
end

-- Returns the text of info/exclude. user_file: the user's core.excludesFile, or nil.
function M.text(root, user_file, store)
  local lines = {}
  local function add(text, path)
    for _, line in ipairs(vim.split(text, "\n", { plain = true, trimempty = true })) do
      lines[#lines + 1] = M.rebase(line, path)
    end
  end
  if user_file then
    add(read(user_file), "")
  end
  local top, git = repository(root)
  if top then
    if git then
      add(read(git .. "/info/exclude"), root:sub(#top + 2))
    end
    local folder = top
    for name in root:sub(#top + 2):gmatch("[^/]+") do
      add(read(folder .. "/.gitignore"), root:sub(#folder + 2))
      folder = folder .. "/" .. name
    end
  end
  lines[#lines + 1] = ".codex-bridge-" .. ("[0-9a-f]"):rep(24) -- temporary files of a restore
  if vim.startswith(store, root .. "/") then -- the store never contains itself
    lines[#lines + 1] = "/" .. vim.fs.dirname(store):sub(#root + 2):gsub("[%*%?%[%]\\! ]", "\\%0") .. "/"
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
