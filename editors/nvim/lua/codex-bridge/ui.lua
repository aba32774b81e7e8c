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

-- Shows lines in a new tab.
function M.show_text(name, lines, filetype)
  vim.cmd.tabnew()
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = "nofile", "wipe", false
  pcall(vim.api.nvim_buf_set_name, buf, name)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].filetype, vim.bo[buf].modifiable = filetype, false
  vim.wo[0][0].wrap = false
end

-- Shows a buffer in a new window at the bottom, and returns the window. When it closes, windows of a fixed height get
-- their height back; Neovim would give its room to the one above.
function M.split_below(buf)
  local heights = {}
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.wo[window].winfixheight then
      heights[window] = vim.api.nvim_win_get_height(window)
    end
  end
  vim.cmd("botright split")
  local below = vim.api.nvim_get_current_win()
  vim.wo[below][0].winfixheight = false
  vim.api.nvim_win_set_buf(below, buf)
  vim.api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(below),
    once = true,
    callback = vim.schedule_wrap(function()
      for window, height in pairs(heights) do
        if vim.api.nvim_win_is_valid(window) then
          vim.api.nvim_win_set_height(window, height)
        end
      end
    end),
  })
  return below
end

-- Returns text, truncated with "…" if it is wider than width columns.
function M.truncate(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  return vim.fn.strcharpart(text, 0, math.max(width - 1, 0)) .. "…"
end

-- Returns a fence of at least the given length that no line ends.
function M.fence(lines, fence)
  for _, line in ipairs(lines) do
    local ticks = line:match("^%s*(`+)")
    if ticks and #ticks >= #fence then
      fence = ("`"):rep(#ticks + 1)
    end
  end
  return fence
end

-- Removes escape sequences and other control characters.
function M.strip_control(text)
  return (text:gsub("\27%[[%d;?]*%a", ""):gsub("\r\n", "\n"):gsub("[%z\1-\8\11-\31\127]", ""))
end

-- Returns the lines of a card in the chat, with an empty one at the end: a title, rows of { label, text }, and a line with
-- the keys of its actions, unless that is "".
function M.card_lines(title, rows, actions)
  local width = 0
  for _, row in ipairs(rows) do
    width = math.max(width, vim.fn.strdisplaywidth(row[1]))
  end
  local lines = { "> " .. M.strip_control(title) }
  for _, row in ipairs(rows) do
    local label = row[1] .. (" "):rep(width - vim.fn.strdisplaywidth(row[1]))
    for i, line in ipairs(vim.split(M.strip_control(row[2]), "\n", { plain = true })) do
      lines[#lines + 1] = ("> %s  %s"):format(i == 1 and label or (" "):rep(width), line)
    end
  end
  if actions ~= "" then
    lines[#lines + 1] = "> " .. actions
  end
  lines[#lines + 1] = ""
  return lines
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
