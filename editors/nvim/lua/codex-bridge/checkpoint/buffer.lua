-- The exact bytes of buffers: what Neovim would write, and the lines for given bytes. Both are nil for what can't be
-- written exactly.
local M = {}

local BOM = "\239\187\191"

-- Converts between encodings; nil unless the conversion back gives the same bytes.
local function convert(text, from, to)
  if from == to then
    return text
  elseif text:find("\0", 1, true) then
    return nil
  end
  local converted = vim.iconv(text, from, to)
  return converted and vim.iconv(converted, to, from) == text and converted or nil
end

-- Returns the line separator, the encoding and the byte order mark of a buffer; nil for unusual ones.
local function format(buf)
  local o = vim.bo[buf]
  if o.fileformat == "mac" or o.endoffile then
    return nil
  end
  local encoding = o.binary and "utf-8" or o.fileencoding == "" and "utf-8" or o.fileencoding
  local is_marked = o.bomb and not o.binary
  if is_marked and encoding ~= "utf-8" then
    return nil
  end
  return o.fileformat == "dos" and not o.binary and "\r\n" or "\n", encoding, is_marked and BOM or ""
end

local function encode(buf, lines, has_end, is_empty)
  local separator, encoding, mark = format(buf)
  if not separator then
    return nil
  end
  local text = is_empty and "" or table.concat(lines, separator) .. (has_end and separator or "")
  text = convert(text, "utf-8", encoding)
  return text and mark .. text
end

-- Returns the bytes of a buffer.
function M.bytes(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local is_empty = #lines == 1 and lines[1] == "" and vim.api.nvim_buf_call(buf, function()
    return vim.fn.line2byte(2) == -1
  end)
  return encode(buf, lines, vim.bo[buf].endofline, is_empty)
end

-- Returns the lines for bytes, and whether the last one has an end.
local function decode(buf, bytes)
  local separator, encoding, mark = format(buf)
  if not separator or not vim.startswith(bytes, mark) then
    return nil
  end
  local text = convert(bytes:sub(#mark + 1), encoding, "utf-8")
  if not text then
    return nil
  end
  local lines = vim.split(text, separator, { plain = true })
  local has_end = #lines > 1 and lines[#lines] == ""
  if has_end then
    lines[#lines] = nil
  end
  return encode(buf, lines, has_end, text == "") == bytes and lines or nil, has_end or text == ""
end

-- Changes the lines of a buffer to bytes, only where they differ, so that marks and the cursor stay. It returns false
-- and changes nothing if the buffer can't have exactly these bytes.
function M.set(buf, bytes)
  local lines, has_end = decode(buf, bytes)
  if not lines or not vim.bo[buf].modifiable then
    return false
  end
  local old = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local function text(list)
    return #list == 0 and "" or table.concat(vim.tbl_map(function(line)
      return (line:gsub("\n", "\0"))
    end, list), "\n") .. "\n"
  end
  local hunks = vim.diff(text(old), text(lines), { result_type = "indices" })
  for i = #hunks, 1, -1 do
    local from, removed, to, added = unpack(hunks[i])
    local at = removed == 0 and from or from - 1
    vim.api.nvim_buf_set_lines(buf, at, at + removed, true, added == 0 and {} or vim.list_slice(lines, to, to + added - 1))
  end
  if vim.bo[buf].endofline ~= has_end then
    vim.bo[buf].endofline = has_end
  end
  if bytes ~= M.bytes(buf) then -- such as an empty file, which has no line
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines[1] == "" and #lines == 1 and bytes == "" and {} or lines)
  end
  return M.bytes(buf) == bytes
end

-- Returns the loaded buffers of a file.
function M.of(path)
  return vim.tbl_filter(function(buf)
    local name = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" and vim.api.nvim_buf_get_name(buf) or ""
    return name ~= "" and (name == path or vim.uv.fs_realpath(name) == path)
  end, vim.api.nvim_list_bufs())
end

return M
