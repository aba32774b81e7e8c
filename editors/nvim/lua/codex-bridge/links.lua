-- References to files and URLs in the chat. Only a key of the user follows them: a file must exist, and a URL is shown in
-- full before it is opened.
local config = require("codex-bridge.config")
local file_window = require("codex-bridge.file_window")
local S = require("codex-bridge.strings")

local M = {}

-- Returns the captures of the first match of a pattern around a column (from 1).
local function around(line, column, pattern)
  local from = 1
  while true do
    local first, last, one = line:find(pattern, from)
    if not first or first > column then
      return nil
    elseif last >= column then
      return one
    end
    from = last + 1
  end
end

-- Returns the texts around a column that may be a reference, the likeliest first.
local function candidates(line, column)
  local found = {
    around(line, column, "%[[^%]]*%]%(<?([^%)<>]+)>?%)") or false,
    around(line, column, "`([^`]+)`") or false,
    around(line, column, '"([^"]+)"') or false,
    around(line, column, "([^%s\"'`<>%(%)%[%],;]+)") or false,
  }
  return vim.tbl_filter(function(text)
    return text
  end, found)
end

-- Splits "path:line:column", "path#Lline" and "path:line-line"; the line and the column may be absent.
local function split(text)
  text = text:gsub("^file://", ""):gsub("[%.,:!%?]+$", "")
  for _, pattern in ipairs({ "^(.-):(%d+):(%d+)$", "^(.-):(%d+)%-%d+$", "^(.-):(%d+)$", "^(.-)#L(%d+)", "^(.-)%((%d+)%)$" }) do
    local path, line, column = text:match(pattern)
    if path then
      return path, tonumber(line), tonumber(column)
    end
  end
  return text
end

-- Returns the absolute path of an existing file, or nil. A relative path is below the folder of the thread. The beginning of names in diffs, a/ or b/, is left out.
local function find_file(path)
  path = path:gsub("^@", ""):gsub('^"(.*)"$', "%1")
  for _, name in ipairs({ path, (path:gsub("^[ab]/", "")) }) do
    if vim.startswith(name, "~/") then
      name = vim.fs.normalize(name)
    elseif not vim.startswith(name, "/") and name ~= "" then
      name = vim.fs.joinpath(require("codex-bridge.session").folder(), name)
    end
    local stat = name ~= "" and vim.uv.fs_stat(name)
    if stat and stat.type == "file" then
      return vim.fn.fnamemodify(name, ":p")
    end
  end
end

-- Returns the reference around a column (from 0) of a line: { path, line, column } or { url }; nil if there is none.
function M.at(line, column)
  for _, text in ipairs(candidates(line, column + 1)) do
    local url = text:match("^https?://%S+")
    local path, row, col = split(text)
    local file = not url and find_file(path)
    if url then
      return { url = (url:gsub("[%.,:!%?]+$", "")) }
    elseif file then
      return { path = file, line = row, column = col }
    end
  end
end

local function open_url(url)
  local shown = require("codex-bridge.display").value(url)
  vim.ui.select({ S.open_url, S.cancel_open }, { prompt = S.ask_open:format(shown), kind = "codex-url" }, function(choice)
    if choice == S.open_url then
      vim.ui.open(url)
    end
  end)
end

-- Follows the reference under the cursor; returns false if there is none.
function M.follow()
  local found = M.at(vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2])
  if not found then
    return false
  elseif found.url then
    open_url(found.url)
  else
    file_window.open(found.path, found.line, found.column)
  end
  return true
end

-- Sets the keys of a chat.
function M.map(buf)
  local function follow_or_say()
    if not M.follow() then
      vim.notify(S.no_reference, vim.log.levels.INFO)
    end
  end
  for _, key in ipairs({ "gf", "gF", "gx" }) do
    vim.keymap.set("n", key, follow_or_say, { buffer = buf, desc = S.state:format(S.follow) })
  end
  if config.current.keys.open then
    vim.keymap.set("n", config.current.keys.open, function()
      if vim.fn.foldclosed(".") > 0 then
        vim.cmd.foldopen()
      else
        follow_or_say()
      end
    end, { buffer = buf, nowait = true, desc = S.state:format(S.follow) })
  end
  vim.keymap.set("n", "<2-LeftMouse>", follow_or_say, { buffer = buf, desc = S.state:format(S.follow) })
end

return M
