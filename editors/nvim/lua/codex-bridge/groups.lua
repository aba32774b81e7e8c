-- Groups the files of a patch or a turn by folder, so that a list of them stays short. The VS Code extension has the same
-- rules in src/core/fileGroups.ts.
local M = {}

M.max_flat = 10 -- so many files need no groups

local MAX_GROUPS = 20

local function folder_of(parts, depth)
  return table.concat(vim.list_slice(parts, 1, math.min(depth, #parts)), "/")
end

-- Returns the largest depth at which there are at most MAX_GROUPS folders, at least 1.
local function choose_depth(folders)
  local depth = 1
  for _, parts in ipairs(folders) do
    depth = math.max(depth, #parts)
  end
  while depth > 1 do
    local names = {}
    for _, parts in ipairs(folders) do
      names[folder_of(parts, depth)] = true
    end
    if vim.tbl_count(names) <= MAX_GROUPS then
      return depth
    end
    depth = depth - 1
  end
  return depth
end

-- Returns files by folder: a list of { folder, files }, in the order of the first file of each; nil if there are few.
-- path_of(file) is the path that the user sees. Many folders are joined to those above them.
function M.by_folder(files, path_of)
  if #files <= M.max_flat then
    return nil
  end
  local folders = vim.tbl_map(function(file)
    local parts = vim.split(path_of(file), "/", { plain = true })
    return vim.list_slice(parts, 1, #parts - 1)
  end, files)
  local depth, groups, by_name = choose_depth(folders), {}, {}
  for i, file in ipairs(files) do
    local name = folder_of(folders[i], depth)
    if not by_name[name] then
      by_name[name] = { folder = name, files = {} }
      groups[#groups + 1] = by_name[name]
    end
    table.insert(by_name[name].files, file)
  end
  return groups
end

return M
