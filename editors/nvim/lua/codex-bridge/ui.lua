-- Helpers for buffers and for texts of limited width.
local M = {}

-- Returns buf if it is loaded, else a new scratch buffer. The second result is true for a new buffer.
function M.scratch_buffer(buf, name)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    return buf, false
  end
  if buf and vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_delete(buf, { force = true }) -- :bdelete unloaded it; its name must be free
  end
  buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, name)
  vim.bo[buf].bufhidden, vim.bo[buf].filetype = "hide", "markdown"
  return buf, true
end

-- Returns text, truncated with "…" if it is wider than width columns.
function M.truncate(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  return vim.fn.strcharpart(text, 0, math.max(width - 1, 0)) .. "…"
end

-- Escapes text for 'winbar' and 'statusline'.
function M.escape(text)
  return (text:gsub("%%", "%%%%"))
end

-- Returns the path relative to the current directory or the home directory.
function M.short_path(path)
  return vim.fn.fnamemodify(path, ":~:.")
end

return M
