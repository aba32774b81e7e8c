-- The prompt: the buffer below the chat, in which the user writes.
local chips = require("codex-bridge.chips")
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.prompt")

local function get_lines()
  return vim.api.nvim_buf_get_lines(M.buffer(), 0, -1, false)
end

local function update(buf)
  chips.highlight(buf)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  if lines[#lines] == "" and chips.split(lines) == "" then
    local keys = config.current.keys
    local text = S.placeholder:format(keys.send or keys.send_insert or ":CodexSend")
    vim.api.nvim_buf_set_extmark(buf, ns, #lines - 1, 0, { virt_text = { { text, "Comment" } }, virt_text_pos = "overlay" })
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
  map({ "n", "i" }, keys.image, function() require("codex-bridge").image() end, S.commands.CodexImage)
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    buffer = buf,
    callback = function()
      update(buf)
    end,
  })
  require("codex-bridge.complete").attach(buf)
  update(buf)
  return buf
end

-- Moves the cursor of the prompt's windows to the end.
local function go_to_end()
  local last = vim.api.nvim_buf_line_count(M.buffer())
  for _, window in ipairs(vim.fn.win_findbuf(M.buffer())) do
    vim.api.nvim_win_set_cursor(window, { last, #get_lines()[last] })
  end
end

local function set_lines(lines)
  local buf = M.buffer()
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  update(buf)
end

-- Puts lines back above what the user has written since.
local function restore(lines)
  local newer = get_lines()
  set_lines(#newer == 1 and newer[1] == "" and lines or vim.list_extend(vim.deepcopy(lines), newer))
end

-- Sends the text and the attachments, or runs the command of a text that begins with a slash. After an error they return
-- to the prompt.
function M.send()
  local lines = get_lines()
  local text, attached = chips.split(lines)
  if text == "" and #attached == 0 then
    return
  end
  vim.cmd.stopinsert()
  local function send()
    if vim.deep_equal(get_lines(), lines) then -- else the user has written while a picker was open
      set_lines({ "" })
    end
    local parts, images = { text ~= "" and text or nil }, {}
    for _, chip in ipairs(attached) do
      parts[#parts + 1] = chip.text
      images[#images + 1] = chip.image
    end
    require("codex-bridge").send(table.concat(parts, "\n\n"), { images = images }, function(err)
      if err then
        restore(lines)
      end
    end)
  end
  require("codex-bridge.slash").run(text, send, function()
    set_lines(vim.list_extend(vim.tbl_filter(chips.of, lines), { "" })) -- a command leaves the attachments
    go_to_end()
  end)
end

-- Appends a text to the prompt.
function M.quote(text)
  set_lines(vim.list_extend(get_lines(), vim.split("\n" .. text, "\n", { plain = true })))
end

-- Attaches something to the next message, see chips.lua.
function M.attach(chip)
  local buf, lines = M.buffer(), get_lines()
  local line, row = chips.line(chip), 0
  if not vim.tbl_contains(lines, line) then
    while lines[row + 1] and chips.of(lines[row + 1]) do
      row = row + 1
    end
    vim.api.nvim_buf_set_lines(buf, row, row, false, { line })
    if row == #lines then
      vim.api.nvim_buf_set_lines(buf, -1, -1, false, { "" })
    end
  end
  update(buf)
  go_to_end()
  require("codex-bridge.status").redraw()
end

-- Returns the winbar of the prompt.
function M.winbar()
  local keys, status = config.current.keys, require("codex-bridge.status")
  local parts = {}
  local images = #vim.tbl_filter(function(line)
    local chip = chips.of(line)
    return chip and chip.image ~= nil
  end, get_lines())
  if images > 0 then
    parts[#parts + 1] = (images == 1 and S.one_image or S.images):format(images)
  end
  if require("codex-bridge.session").about().state == "working" then
    parts[#parts + 1] = S.steers:format(keys.send or ":CodexSend", keys.stop or ":CodexStop")
  else
    parts[#parts + 1] = S.sends:format(keys.send or ":CodexSend", keys.send_insert or S.no_key)
  end
  local right = table.concat(vim.tbl_filter(function(text)
    return text ~= ""
  end, { status.component("plan"), status.component("context") }), " · ")
  local room = vim.api.nvim_win_get_width(vim.g.statusline_winid or 0) - vim.fn.strdisplaywidth(right) - 2
  return ui.escape(ui.truncate(" " .. table.concat(parts, " · "), room)) .. "%=" .. ui.escape(right) .. " "
end

return M
