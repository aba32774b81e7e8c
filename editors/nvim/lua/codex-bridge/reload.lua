-- Reloads buffers whose files Codex has changed. A modified buffer is never reloaded; the user gets one warning per
-- change instead.
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")

local M = {}

local warned = {} -- by buffer: the state of the file at the last warning

local function file_state(buf)
  local s = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf))
  return s and ("%d.%d.%d"):format(s.mtime.sec, s.mtime.nsec, s.size)
end

local function reload(buf)
  if not vim.api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= "" or vim.api.nvim_buf_get_name(buf) == "" then
    return
  end
  if not vim.bo[buf].modified then
    warned[buf] = nil
    vim.cmd.checktime({ args = { tostring(buf) } })
  end
end

-- Reloads all unmodified buffers.
function M.all()
  if config.current.reload then
    vim.tbl_map(reload, vim.api.nvim_list_bufs())
  end
end

-- Reloads the buffers that a completed item may have changed. A command may have changed any file.
function M.after_item(item)
  if not config.current.reload then
    return
  elseif item.type == "commandExecution" then
    return M.all()
  elseif item.type ~= "fileChange" or item.status ~= "completed" then
    return
  end
  for _, change in ipairs(item.changes) do
    local buf = vim.fn.bufnr("^" .. vim.fn.fnameescape(change.path) .. "$")
    if buf > 0 then
      reload(buf)
      local state = file_state(buf)
      if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified and warned[buf] ~= state then
        warned[buf] = state
        vim.notify(
          S.buffer_has_changes:format(require("codex-bridge.ui").short_path(change.path)),
          vim.log.levels.WARN
        )
      end
    end
  end
end

return M
