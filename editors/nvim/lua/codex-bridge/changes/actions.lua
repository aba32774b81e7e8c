-- The actions on a file or hunk of a turn, in the chat and in the list of changes. A place is { file, hunk }.
local changes = require("codex-bridge.changes")
local lines = require("codex-bridge.changes.lines")
local S = require("codex-bridge.strings")

local M = {}

local function value(text)
  return require("codex-bridge.display").value(text)
end

local function warn(text)
  vim.notify(text, vim.log.levels.WARN)
end

-- Marks a place as kept or undone, and removes it from the lists.
local function finish(turn, place, list)
  local file, hunk = place.file, place.hunk
  if not hunk then
    file.done, file.outcome = true, list
  else
    file[list][hunk] = true
    local is_open = false
    for i in ipairs(file.hunks) do
      is_open = is_open or lines.is_open(file, i)
    end
    file.done = not is_open
  end
  changes.refresh(turn.thread)
end

-- Reports whether a place is a folder, and says so.
local function is_folder(place)
  if place.folder then
    vim.notify(S.is_folder:format(require("codex-bridge.config").current.keys.diff or "<CR>"), vim.log.levels.INFO)
  end
  return place.folder ~= nil
end

function M.accept(turn, place)
  if is_folder(place) then
    return
  end
  finish(turn, place, "kept")
end

-- Compares a file or hunk; opens or closes a folder.
function M.diff(turn, place)
  if place.folder then
    turn.open_folders = turn.open_folders or {}
    turn.open_folders[place.folder] = not turn.open_folders[place.folder] or nil
    return changes.refresh(turn.thread)
  end
  require("codex-bridge.changes.diff").open(turn, place.file, place.hunk)
end

function M.decline(turn, place)
  if is_folder(place) then
    return
  end
  local name = value(place.file.path)
  changes.undo(turn, place.file, place.hunk, function(err, plan)
    if err then
      return warn(S.not_undone:format(name, err))
    elseif plan.verdict == "conflict" or plan.verdict == "refused" then
      warn(S.not_undone:format(name, plan.reason))
      return plan.verdict == "conflict" and M.diff(turn, place)
    end
    finish(turn, place, "undone")
    vim.notify((plan.verdict == "merged" and S.undone_merged or S.undone):format(name), vim.log.levels.INFO)
  end)
end

return M
