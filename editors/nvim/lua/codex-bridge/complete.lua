-- Completion in the prompt: files and folders after @, commands after / at the beginning. It is 'omnifunc' and
-- 'completefunc', which completion plugins also call, and opens a menu while the user types.
local chips = require("codex-bridge.chips")
local config = require("codex-bridge.config")
local files = require("codex-bridge.files")
local S = require("codex-bridge.strings")

local M = {}

local saved -- the user's 'completeopt' while they write

-- Returns "file" or "command", the column (from 0) where the word begins, and the word; nil if there is none.
local function word_before_cursor()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local line = vim.api.nvim_get_current_line():sub(1, column)
  local command = line:match("^/[%a-]*$")
  local above = command and vim.api.nvim_buf_get_lines(0, 0, row - 1, false) or {}
  if command and #vim.tbl_filter(function(other) return not chips.of(other) end, above) == 0 then
    return "command", 0, command
  end
  local start = line:find("@[^%s@]*$")
  if start and (start == 1 or line:sub(start - 1, start - 1):find("[%s(%[]")) then
    return "file", start - 1, line:sub(start)
  end
end

-- Returns the items for the names of files.
local function file_items(entries)
  return vim.tbl_map(function(entry)
    -- Completion plugins compare the word with the text before the cursor, so both begin with @.
    return { word = "@" .. (entry:find("%s") and ('"%s"'):format(entry) or entry), kind = entry:sub(-1) == "/" and S.folder_kind or S.file_kind }
  end, entries)
end

local function command_items(word)
  return vim.tbl_map(function(command)
    return { word = "/" .. command.name, menu = command.description, kind = S.command_kind }
  end, require("codex-bridge.slash").match(word:sub(2)))
end

-- See :help complete-functions.
function M.func(find_start, base)
  if find_start == 1 then
    local kind, column = word_before_cursor()
    return kind and column or -3
  elseif vim.startswith(base, "/") then
    return command_items(base)
  elseif vim.startswith(base, "@") then
    return file_items(files.match(base:sub(2)))
  end
  return {}
end

-- Finds the items for the word before the cursor. Calls done(items, column, word, is_file), maybe later: column is where the
-- word begins, from 0. Without a word, items is empty.
function M.find(done)
  local kind, column, word = word_before_cursor()
  if not kind then
    return done({})
  elseif kind == "command" then
    return done(command_items(word), column, word, false)
  end
  files.search(word:sub(2), vim.schedule_wrap(function(entries)
    done(file_items(entries), column, word, true)
  end))
end

-- Opens the menu for the word before the cursor, if it is still there when the items are.
local function open_menu()
  local buf = vim.api.nvim_get_current_buf()
  M.find(function(items, column, word)
    if #items == 0 or vim.api.nvim_get_current_buf() ~= buf or vim.fn.mode() ~= "i" then
      return
    end
    local _, now_column, now_word = word_before_cursor()
    if now_column == column and now_word == word then
      vim.fn.complete(column + 1, items)
    end
  end)
end

-- Prepares the buffer of the prompt.
function M.attach(buf)
  vim.bo[buf].omnifunc = "v:lua.require'codex-bridge.complete'.func"
  vim.bo[buf].completefunc = vim.bo[buf].omnifunc
  vim.api.nvim_create_autocmd("InsertEnter", { buffer = buf, callback = vim.schedule_wrap(require("codex-bridge.cmp").register) })
  if not config.current.complete then
    return
  end
  vim.api.nvim_create_autocmd("TextChangedI", { buffer = buf, callback = open_menu })
  -- A typed word must not be replaced by the first item. 'completeopt' is global in Neovim 0.10.
  vim.api.nvim_create_autocmd("InsertEnter", {
    buffer = buf,
    callback = function()
      saved = saved or vim.o.completeopt
      vim.o.completeopt = "menuone,noinsert,noselect"
    end,
  })
  vim.api.nvim_create_autocmd({ "InsertLeave", "BufLeave" }, {
    buffer = buf,
    callback = function()
      if saved then
        vim.o.completeopt, saved = saved, nil
      end
    end,
  })
end

return M
