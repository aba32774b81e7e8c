-- Attachments of the next message. Each is a line of the prompt with a mark before its name: deleting the line removes the
-- attachment, and undo or a paste brings it back. The contents are kept until Neovim ends.
local S = require("codex-bridge.strings")

local M = {}

local MARK = "▪ "
local ns = vim.api.nvim_create_namespace("codex-bridge.chips")
local by_line = {}

-- Returns the line for an attachment: { name, text } or { name, image }.
function M.line(chip)
  local name = require("codex-bridge.display").line(chip.name)
  local line, number = MARK .. name, 1
  while by_line[line] and not vim.deep_equal(by_line[line], chip) do
    number = number + 1
    line = S.same_name:format(MARK, name, number)
  end
  by_line[line] = chip
  return line
end

-- Returns the attachment of a line, or nil.
function M.of(line)
  return by_line[line]
end

-- Splits lines of the prompt into the text and the list of attachments.
function M.split(lines)
  local text, chips = {}, {}
  for _, line in ipairs(lines) do
    if by_line[line] then
      chips[#chips + 1] = by_line[line]
    else
      text[#text + 1] = line
    end
  end
  return vim.trim(table.concat(text, "\n")), chips
end

-- Highlights the attachments of a buffer, and says how to remove them.
function M.highlight(buf)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    if by_line[line] then
      vim.api.nvim_buf_set_extmark(buf, ns, row - 1, 0, { end_col = #line, hl_group = "Special", virt_text = { { S.removes_chip, "Comment" } }, virt_text_pos = "right_align" })
    end
  end
end

-- Returns lines of a buffer as a code block below their place.
function M.quote(buf, first, last)
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  local name = vim.api.nvim_buf_get_name(buf)
  local place = name == "" and "" or S.range:format(vim.fn.fnamemodify(name, ":."), first, last)
  local fence = require("codex-bridge.ui").fence(lines, "```")
  return ("%s%s%s\n%s\n%s"):format(place, fence, vim.bo[buf].filetype, table.concat(lines, "\n"), fence)
end

local function short_name(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  return name == "" and S.no_file_name or vim.fn.fnamemodify(name, ":.")
end

-- Returns the attachment for lines of a buffer.
function M.selection(buf, first, last)
  return { name = S.selection:format(short_name(buf), first, last), text = M.quote(buf, first, last) }
end

-- Returns the attachment for the diagnostics of lines of a buffer, or nil if there are none.
function M.diagnostics(buf, first, last)
  local found = vim.tbl_filter(function(d)
    return d.lnum + 1 >= first and d.lnum + 1 <= last
  end, vim.diagnostic.get(buf))
  if #found == 0 then
    return nil
  end
  local lines = vim.tbl_map(require("codex-bridge.tools").diagnostic_line, found)
  local name = (#found == 1 and S.one_problem or S.problems):format(short_name(buf), #found)
  return { name = name, text = S.problems_of:format(short_name(buf)) .. "\n" .. table.concat(lines, "\n") }
end

-- Returns the attachment for an image.
function M.image(path)
  return { name = S.image:format(vim.fs.basename(path)), image = path }
end

return M
