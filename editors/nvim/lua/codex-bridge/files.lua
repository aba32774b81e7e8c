-- The files and folders of the workspace, for mentions. Codex searches them if it runs and the policy lets it; otherwise the
-- plugin searches the list of git, or of the folder itself.
local M = {}

local MAX_RESULTS, MAX_FILES = 50, 20000
local MAX_AGE = 5000 -- of the list, in milliseconds

local cache = {} -- root, entries, at
local refused_on -- the connection on which the policy refused the search

-- Returns the files with their folders, which end in a slash.
local function with_folders(files)
  local entries, seen = {}, {}
  for _, file in ipairs(files) do
    for folder in vim.fs.parents(file) do
      if folder == "." or folder == "/" or seen[folder] then
        break
      end
      seen[folder] = true
      entries[#entries + 1] = folder .. "/"
    end
    entries[#entries + 1] = file
  end
  return entries
end

-- Returns the files of a folder that is not in a repository.
local function walk(root)
  local files = {}
  for name, kind in vim.fs.dir(root, { depth = 8, skip = function(folder) return not vim.startswith(vim.fs.basename(folder), ".") end }) do
    if kind == "file" then
      files[#files + 1] = name
    end
    if #files >= MAX_FILES then
      break
    end
  end
  return files
end

-- Returns all files and folders, as names below the folder of the thread.
local function list()
  local root = require("codex-bridge.session").folder()
  if cache.root == root and vim.uv.now() - cache.at < MAX_AGE then
    return cache.entries
  end
  -- systemlist() runs no callbacks; while the user completes a word, these may not change buffers.
  local files = vim.fn.systemlist({ "git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-C", root, "ls-files", "-co", "--exclude-standard", "--deduplicate" })
  if vim.v.shell_error ~= 0 then
    files = walk(root)
  end
  cache = { root = root, entries = with_folders(files), at = vim.uv.now() }
  return cache.entries
end

-- Returns the entries that match a query, best first, without Codex.
function M.match(query)
  local entries = list()
  local found = query == "" and entries or vim.fn.matchfuzzy(entries, query, { limit = MAX_RESULTS })
  return vim.list_slice(found, 1, MAX_RESULTS)
end

-- Finds the entries that match a query; callback(entries) is called once, perhaps later.
function M.search(query, callback)
  local session = require("codex-bridge.session")
  local connection = session.current().host.connection
  if query == "" or not connection or refused_on == connection then
    return callback(M.match(query))
  end
  session.request("fuzzyFileSearch", { query = query, roots = { session.folder() } }, function(err, result)
    if err then
      refused_on = connection
      return callback(M.match(query))
    end
    local files = vim.tbl_filter(function(file)
      return not ("/" .. file.path .. "/"):find("/.git/", 1, true) -- Codex finds these, too
    end, result.files)
    callback(vim.tbl_map(function(file)
      return file.path .. (file.match_type == "directory" and "/" or "")
    end, vim.list_slice(files, 1, MAX_RESULTS)))
  end)
end

return M
