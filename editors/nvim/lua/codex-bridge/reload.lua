-- Buffers whose files Codex has written. What has changes of its own is never touched: the
-- person is told, once for each.
local config = require("codex-bridge.config")

local M = {}

local told = {}

local function stat(buf)
  local s = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf))
  return s and ("%d.%d.%d"):format(s.mtime.sec, s.mtime.nsec, s.size)
end

local function check(buf)
  if not vim.api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= "" or vim.api.nvim_buf_get_name(buf) == "" then
    return
  end
  if not vim.bo[buf].modified then
    told[buf] = nil
    vim.cmd.checktime({ args = { tostring(buf) } })
  end
end

function M.all()
  if config.current.reload then
    vim.tbl_map(check, vim.api.nvim_list_bufs())
  end
end

-- Looks after the buffers of an item that is done.
function M.item(item)
  if not config.current.reload then
    return
  elseif item.type == "commandExecution" then
    return M.all() -- it may have written anything
  elseif item.type ~= "fileChange" or item.status ~= "completed" then
    return
  end
  for _, change in ipairs(item.changes) do
    local buf = vim.fn.bufnr("^" .. vim.fn.fnameescape(change.path) .. "$")
    if buf > 0 then
      check(buf)
      local now = stat(buf)
      if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified and told[buf] ~= now then
        told[buf] = now
        vim.notify(
          ("codex has written %s, and your buffer has changes: :w! keeps yours, :e! takes the file"):format(vim.fn.fnamemodify(change.path, ":~:.")),
          vim.log.levels.WARN
        )
      end
    end
  end
end

return M
