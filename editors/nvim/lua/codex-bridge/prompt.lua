-- The buffer to write in, below the chat.
local config = require("codex-bridge.config")

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.prompt")
local images = {}

local function placeholder(buf)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, 2, false)
  if #lines == 1 and lines[1] == "" then
    local keys = config.current.keys
    local text = ("Ask Codex… %s sends"):format(keys.send or keys.send_insert or ":CodexSend")
    vim.api.nvim_buf_set_extmark(buf, ns, 0, 0, { virt_text = { { text, "Comment" } }, virt_text_pos = "overlay" })
  end
end

function M.buffer()
  if M.buf and vim.api.nvim_buf_is_loaded(M.buf) then
    return M.buf
  end
  if M.buf and vim.api.nvim_buf_is_valid(M.buf) then
    vim.api.nvim_buf_delete(M.buf, { force = true })
  end
  local buf = vim.api.nvim_create_buf(false, true)
  M.buf = buf
  vim.api.nvim_buf_set_name(buf, "codex://prompt")
  vim.bo[buf].bufhidden, vim.bo[buf].filetype = "hide", "markdown"
  local keys = config.current.keys
  local function map(mode, key, action, desc)
    if key then
      vim.keymap.set(mode, key, action, { buffer = buf, nowait = true, desc = "codex: " .. desc })
    end
  end
  map("n", keys.send, M.send, "send")
  map({ "n", "i" }, keys.send_insert, M.send, "send")
  map("n", keys.stop, function() require("codex-bridge").stop() end, "stop")
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    buffer = buf,
    callback = function()
      placeholder(buf)
    end,
  })
  placeholder(buf)
  return buf
end

local function set(text)
  local buf = M.buffer()
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, "\n", { plain = true }))
  placeholder(buf)
end

-- Sends what is written. What can't be sent comes back.
function M.send()
  local text = vim.trim(table.concat(vim.api.nvim_buf_get_lines(M.buffer(), 0, -1, false), "\n"))
  if text == "" then
    return
  end
  local attached = images
  images = {}
  vim.cmd.stopinsert()
  set("")
  require("codex-bridge").send(text, { images = attached }, function(err)
    if err then
      local since = vim.trim(table.concat(vim.api.nvim_buf_get_lines(M.buffer(), 0, -1, false), "\n"))
      set(since == "" and text or text .. "\n" .. since)
      images = vim.list_extend(attached, images)
    end
  end)
end

-- Puts a text below what is written, to go on above it.
function M.quote(text)
  set("\n\n" .. text)
end

function M.attach(path)
  images[#images + 1] = path
  require("codex-bridge.events").changed()
end

function M.winbar()
  local keys = config.current.keys
  local parts = {}
  if #images > 0 then
    parts[#parts + 1] = ("%d image%s"):format(#images, #images == 1 and "" or "s")
  end
  if require("codex-bridge.session").about().state == "working" then
    parts[#parts + 1] = ("%s steers, %s stops"):format(keys.send or ":CodexSend", keys.stop or ":CodexStop")
  else
    parts[#parts + 1] = ("%s sends, %s in insert mode"):format(keys.send or ":CodexSend", keys.send_insert or "nothing")
  end
  return (" " .. table.concat(parts, " · "):gsub("%%", "%%%%"))
end

return M
