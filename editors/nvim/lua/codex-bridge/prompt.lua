-- The prompt: the buffer below the chat, in which the user writes.
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.prompt")
local images = {}

local function update_placeholder(buf)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, 2, false)
  if #lines == 1 and lines[1] == "" then
    local keys = config.current.keys
    local text = S.placeholder:format(keys.send or keys.send_insert or ":CodexSend")
    vim.api.nvim_buf_set_extmark(buf, ns, 0, 0, { virt_text = { { text, "Comment" } }, virt_text_pos = "overlay" })
  end
end

-- Returns the buffer, and creates it if necessary.
function M.buffer()
  local buf, is_new = ui.scratch_buffer(M.buf, "codex://prompt")
  M.buf = buf
  if not is_new then
    return buf
  end
  local keys = config.current.keys
  local function map(mode, key, action, desc)
    if key then
      vim.keymap.set(mode, key, action, { buffer = buf, nowait = true, desc = S.state:format(desc) })
    end
  end
  map("n", keys.send, M.send, S.commands.CodexSend)
  map({ "n", "i" }, keys.send_insert, M.send, S.commands.CodexSend)
  map("n", keys.stop, function() require("codex-bridge").stop() end, S.commands.CodexStop)
  map("n", keys.open_policy, function() require("codex-bridge").open_policy() end, S.commands.CodexOpenPolicy)
  map("n", keys.explain, function() require("codex-bridge").explain() end, S.commands.CodexExplain)
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    buffer = buf,
    callback = function()
      update_placeholder(buf)
    end,
  })
  update_placeholder(buf)
  return buf
end

local function get_text()
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(M.buffer(), 0, -1, false), "\n"))
end

local function set_text(text)
  local buf = M.buffer()
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, "\n", { plain = true }))
  update_placeholder(buf)
end

-- Sends the text and the attached images. After an error they return to the prompt.
function M.send()
  local text = get_text()
  if text == "" then
    return
  end
  local attached = images
  images = {}
  vim.cmd.stopinsert()
  set_text("")
  require("codex-bridge").send(text, { images = attached }, function(err)
    if err then
      local newer = get_text()
      set_text(newer == "" and text or text .. "\n" .. newer)
      images = vim.list_extend(attached, images)
    end
  end)
end

-- Replaces the prompt by a quoted text, with room for a question above it.
function M.quote(text)
  set_text("\n\n" .. text)
end

-- Attaches an image to the next message.
function M.attach(path)
  images[#images + 1] = path
  require("codex-bridge.status").redraw()
end

-- Returns the winbar of the prompt.
function M.winbar()
  local keys = config.current.keys
  local parts = {}
  if #images > 0 then
    parts[#parts + 1] = (#images == 1 and S.one_image or S.images):format(#images)
  end
  if require("codex-bridge.session").about().state == "working" then
    parts[#parts + 1] = S.steers:format(keys.send or ":CodexSend", keys.stop or ":CodexStop")
  else
    parts[#parts + 1] = S.sends:format(keys.send or ":CodexSend", keys.send_insert or S.no_key)
  end
  return ui.escape(" " .. table.concat(parts, " · "))
end

return M
