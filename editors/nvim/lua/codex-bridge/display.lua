-- Shows texts that others wrote: a model, a server, the author of a file. Two of them never look the same. The rules are
-- those of bridge/display in Go and of src/core/text.ts of the VS Code extension.
local M = {}

local firsts, lasts = {}, {}
for first, last in require("codex-bridge.lookalikes"):gmatch("(%x+)-(%x+)") do
  firsts[#firsts + 1], lasts[#lasts + 1] = tonumber(first, 16), tonumber(last, 16)
end

-- Reports whether a character can't be told from another: it is invisible, turns the text, or is a blank of another width.
local function is_lookalike(code)
  local low, high = 1, #firsts
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if firsts[middle] <= code then
      low = middle
    else
      high = middle - 1
    end
  end
  return code >= firsts[low] and code <= lasts[low]
end

-- Reports whether a character can't be seen, or turns the text. Blanks of other widths count as seen.
local function is_invisible(code)
  local is_blank = code == 0xa0 or code == 0x1680 or code >= 0x2000 and code <= 0x200a or code == 0x202f or code == 0x205f or code == 0x3000
  return not is_blank and is_lookalike(code)
end

local short = { [9] = "\\t", [10] = "\\n", [13] = "\\r" }

-- Returns a character as JSON escapes it.
local function escape(code)
  if code > 0xffff then
    local rest = code - 0x10000
    return ("\\u%04x\\u%04x"):format(0xd800 + math.floor(rest / 0x400), 0xdc00 + rest % 0x400)
  end
  return short[code] or ("\\u%04x"):format(code)
end

-- Returns text with the characters escaped that is_escaped(code) names, and a byte that is no character replaced.
local function escape_all(text, is_escaped)
  text = text:gsub("[%z\1-\31\127]", function(char)
    return is_escaped(char:byte()) and escape(char:byte()) or nil
  end)
  return (text:gsub("[\128-\255][\128-\191]*", function(bytes)
    local code = vim.fn.char2nr(bytes)
    if vim.fn.nr2char(code) ~= bytes then
      return "\239\191\189"
    end
    return is_escaped(code) and escape(code) or nil
  end))
end

local function quote(text)
  return '"' .. escape_all(text:gsub('["\\]', "\\%0"), is_lookalike) .. '"'
end

-- Reports whether no other text looks like this one.
local function is_exact(line)
  return not line:find('^ *"') and not line:find(" $") and escape_all(line, is_lookalike) == line
end

-- Returns a text as it is, or quoted as in JSON if it could be taken for another one. It stays in one line.
function M.value(text)
  return (text:find("^ ") or not is_exact(text)) and quote(text) or text
end

-- Returns a text of one or several lines. A line that could be taken for another is quoted.
function M.visible(text)
  if not text:find("\n", 1, true) then
    return M.value(text)
  end
  return table.concat(vim.tbl_map(function(line)
    return is_exact(line) and line or quote(line)
  end, vim.split(text, "\n", { plain = true })), "\n")
end

-- Returns the lines of a whole command. A mark before each of several tells them from one long line that is wrapped.
function M.command(text)
  return text:find("\n", 1, true) and "| " .. M.visible(text):gsub("\n", "\n| ") or M.value(text)
end

-- Returns the path of a file in a list, where a comma or an arrow separates two of them.
function M.path(path)
  return (path:find(",", 1, true) or path:find("→", 1, true)) and quote(path) or M.value(path)
end

-- Returns a sentence, a name or a place in one line, with its invisible characters escaped. Not for a text on which an
-- answer depends: another one may look like it.
function M.line(text)
  return escape_all(text, is_invisible)
end

-- Returns the lines of a diff or another document. They keep their tabs.
function M.document(text)
  return escape_all(text, function(code)
    return code ~= 9 and code ~= 10 and is_invisible(code)
  end)
end

-- Returns a value as JSON, without the escaped slashes of vim.json.
function M.json(value)
  return escape_all(vim.json.encode(value):gsub("\\/", "/"), is_lookalike)
end

return M
