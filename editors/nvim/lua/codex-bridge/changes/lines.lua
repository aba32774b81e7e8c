-- The lines of a list of changes: the files and hunks of a turn, and the files of the diff of a running turn.
local S = require("codex-bridge.strings")

local M = {}

local MAX_LINES = 40

local function value(text)
  return require("codex-bridge.display").value(text)
end

local function letter(file)
  if file.before.kind == "absent" then
    return "A"
  elseif file.after.kind == "absent" then
    return "D"
  end
  return file.before.kind == file.after.kind and "M" or "T"
end

local function head_line(mark, path, added, removed)
  return ("%s %s  +%d -%d"):format(mark, value(path), added, removed)
end

-- Returns the numbers of added and removed lines of a file.
local function count_lines(file)
  local added, removed = 0, 0
  for _, hunk in ipairs(file.hunks or { file.added and file }) do
    added, removed = added + hunk.added, removed + hunk.removed
  end
  return added, removed
end

local function count_text(count)
  return (count == 1 and S.one_file or S.count_files):format(count)
end

-- Returns a folder of groups.lua with the number of its files.
function M.folder_name(group)
  return ("%s  %s"):format(group.folder == "" and S.this_folder or value(group.folder) .. "/", count_text(#group.files))
end

-- Returns the line of a folder.
local function folder_line(group, is_open)
  local added, removed = 0, 0
  for _, file in ipairs(group.files) do
    local more, less = count_lines(file)
    added, removed = added + more, removed + less
  end
  return (is_open and S.open_folder or S.closed_folder):format(M.folder_name(group), added, removed)
end

local function head(file)
  local parts = {}
  if file.hunks then
    parts[1] = head_line(letter(file), file.path, count_lines(file))
  else
    parts[1] = letter(file) .. " " .. value(file.path)
    parts[2] = S.sizes:format(#(file.before.data or ""), #(file.after.data or ""))
  end
  if file.before.kind == "file" and file.after.kind == "file" and file.before.executable ~= file.after.executable then
    parts[#parts + 1] = file.after.executable and S.made_executable or S.made_not_executable
  end
  if file.saved then
    parts[#parts + 1] = S.you_saved
  end
  return table.concat(parts, "  ")
end

-- Adds the lines of a hunk: add(text, highlight).
local function add_hunk(file, hunk, add)
  local merge = require("codex-bridge.checkpoint.merge")
  add(("  @@ -%d,%d +%d,%d @@"):format(hunk.before, hunk.removed, hunk.after, hunk.added), "Title")
  local shown, more = 0, 0
  local function add_lines(sign, highlight, text, first, count)
    local lines = merge.lines_of(text)
    for i = first, first + count - 1 do
      shown = shown + 1
      if shown <= MAX_LINES then
        add("  " .. sign .. require("codex-bridge.display").document((lines[i]:gsub("\n$", ""))), highlight)
      else
        more = more + 1
      end
    end
  end
  add_lines("-", "DiffDelete", file.before.data or "", hunk.before, hunk.removed)
  add_lines("+", "DiffAdd", file.after.data or "", hunk.after, hunk.added)
  if more > 0 then
    add("  " .. S.more_lines:format(more), "Comment")
  end
end

-- Reports whether a file or hunk still needs a decision.
function M.is_open(file, hunk)
  return not (file.done or hunk and (file.undone[hunk] or file.kept[hunk]))
end

-- Returns what became of the files of a turn of which none needs a decision.
function M.outcome(turn)
  local counts = { undone = 0, kept = 0, part = 0 }
  for _, file in ipairs(turn.files) do
    local undone, kept = next(file.undone or {}) ~= nil, next(file.kept or {}) ~= nil
    local outcome = file.outcome or (undone and kept and "part" or undone and "undone" or "kept")
    counts[outcome] = counts[outcome] + 1
  end
  if #turn.files == 0 then
    return S.none_to_undo
  elseif counts.undone == #turn.files then
    return S.all_undone
  end
  return counts.kept == #turn.files and S.all_kept or S.some_kept:format(counts.undone, counts.kept, counts.part)
end

-- Calls add_file(file) for each file. If there are many, they are grouped by folder: add_folder(group, is_open) comes before
-- the files of each, and those of a closed folder are left out.
local function each_file(files, open_folders, add_file, add_folder)
  local groups = require("codex-bridge.groups").by_folder(files, function(file)
    return file.path
  end)
  for _, group in ipairs(groups or { { files = files } }) do
    local is_open = not groups or open_folders[group.folder] == true
    if groups then
      add_folder(group, is_open)
    end
    for _, file in ipairs(is_open and group.files or {}) do
      add_file(file)
    end
  end
end

-- Returns the lines of a turn with changes: { turn, lines, places, marks, folds }. places: by line, { file, hunk }. marks: a
-- list of { line, highlight }. folds: a list of { first, last, key }, a file with its hunks. Files that begin after max
-- lines are counted only. The place of a folder is { folder }; turn.open_folders has the open ones.
function M.of_turn(turn, max)
  local list = { turn = turn, lines = {}, places = {}, marks = {}, folds = {} }
  local place
  local function add(text, highlight)
    list.lines[#list.lines + 1] = text
    list.places[#list.lines] = place
    if highlight then
      list.marks[#list.marks + 1] = { #list.lines, highlight }
    end
  end
  local omitted = 0
  local function add_file(file)
    if max and #list.lines >= max then
      omitted = omitted + 1
    else
      local first = #list.lines + 1
      place = { file = file }
      add(head(file), "Directory")
      for i, hunk in ipairs(file.hunks or {}) do
        if M.is_open(file, i) then
          place = { file = file, hunk = i }
          add_hunk(file, hunk, add)
        end
      end
      if #list.lines > first then
        list.folds[#list.folds + 1] = { first = first, last = #list.lines, key = file.path }
      end
    end
  end
  each_file(vim.tbl_filter(M.is_open, turn.files), turn.open_folders or {}, add_file, function(group, is_open)
    place = { folder = group.folder }
    add(folder_line(group, is_open), "Title")
  end)
  place = nil
  if omitted > 0 then
    add(S.more_files:format(omitted), "Comment")
  end
  if #list.lines == 0 then
    add(M.outcome(turn))
  end
  if turn.unfinished then
    add(S.unfinished, "WarningMsg")
  end
  for _, path in ipairs(turn.uncovered or {}) do
    add(S.not_covered:format(value(path)), "Comment")
  end
  return list
end

-- Returns a line for each file of a unified diff of git, or if there are many, for each folder.
function M.of_diff(diff)
  local files, file = {}, nil
  local old, new = 0, 0 -- lines that are left of the hunk
  for _, line in ipairs(vim.split(diff, "\n", { plain = true })) do
    local sign = line:sub(1, 1)
    if old > 0 or new > 0 then
      old = old - (sign ~= "+" and sign ~= "\\" and 1 or 0)
      new = new - (sign ~= "-" and sign ~= "\\" and 1 or 0)
      file.added, file.removed = file.added + (sign == "+" and 1 or 0), file.removed + (sign == "-" and 1 or 0)
    elseif vim.startswith(line, "diff --git ") then
      file = { mark = "M", path = line:match(" b/(.*)$") or line:sub(12), added = 0, removed = 0 }
      files[#files + 1] = file
    elseif file then
      file.mark = line:find("^new file mode ") and "A" or line:find("^deleted file mode ") and "D" or file.mark
      file.path = line:match("^%+%+%+ b/(.*)$") or line:match("^%-%-%- a/(.*)$") or line:match("^rename to (.*)$") or file.path
      local removed, added = line:match("^@@ %-%d+,?(%d*) %+%d+,?(%d*) @@")
      old, new = tonumber(removed) or removed and 1 or 0, tonumber(added) or added and 1 or 0
    end
  end
  local lines = {}
  each_file(files, {}, function(one)
    lines[#lines + 1] = head_line(one.mark, one.path, one.added, one.removed)
  end, function(group)
    lines[#lines + 1] = folder_line(group, false)
  end)
  return lines, #files
end

return M
