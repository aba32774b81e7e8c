-- The changes in the chat: the files of a running turn, which grow, and then those of the last turn with its hunks, to
-- keep, undo and compare with the keys of the list of changes.
local chats = require("codex-bridge.chat")
local config = require("codex-bridge.config")
local lines = require("codex-bridge.changes.lines")
local S = require("codex-bridge.strings")

local M = {}

local MAX_LINES = 500 -- in the chat

local function title(count)
  return (count == 1 and S.one_file_changed or S.files_changed):format(count)
end

local function live_id(turn_id)
  return "live changes " .. turn_id
end

-- Shows the diff of a running turn as the last block, so that it stays in view.
function M.live(chat, turn_id, diff)
  local id = live_id(turn_id)
  local list, count = lines.of_diff(diff)
  if chat:has(id) and chat.live_diff == diff then
    return -- Codex sends the same one several times
  end
  chat.live_diff = diff
  chat:remove(id)
  if #list > 0 then
    local shown = vim.list_slice(list, 1, MAX_LINES)
    shown[#shown + 1] = #list > MAX_LINES and S.more_files:format(#list - MAX_LINES) or nil
    chat:start_block(id, title(count), {})
    chat:set_body(id, shown)
    chat:set_state(id, S.until_now)
  end
end

-- Completes the live block of a turn.
function M.ended(chat, turn_id)
  chat:set_state(live_id(turn_id), "")
  chat:finish(live_id(turn_id))
end

-- Returns the keys for a turn, or what became of it.
local function state_text(turn)
  if not vim.iter(turn.files):any(lines.is_open) then
    return lines.outcome(turn)
  end
  local keys = config.current.keys
  return S.block_keys:format(keys.accept or "-", keys.decline or "-", keys.diff or "-")
end

-- Shows the changes of a turn in place of its live block.
function M.result(chat, turn)
  if #turn.files > 0 then
    chat:remove(live_id(turn.id))
    chat:start_block(turn.name, title(#turn.files), {})
    chat:set_list(turn.name, lines.of_turn(turn, MAX_LINES))
    chat:set_state(turn.name, state_text(turn))
    chat:finish(turn.name)
  end
end

-- Shows the changes of a turn again, if they are in the chat.
function M.refresh(chat, turn)
  if chat:has(turn.name) then
    chat:set_list(turn.name, lines.of_turn(turn, MAX_LINES))
    chat:set_state(turn.name, state_text(turn))
  end
end

-- Runs an action on the change under the cursor of a chat; returns false if there is none.
function M.act(name)
  local action = require("codex-bridge.changes.actions")[name]
  local chat = action and chats.of_buffer(vim.api.nvim_get_current_buf())
  local place, list
  if chat then
    place, list = chat:place_under_cursor()
  end
  if place then
    action(list.turn, place)
  end
  return place ~= nil
end

-- Sets the keys of a chat.
function M.map(buf)
  for _, name in ipairs({ "accept", "decline", "diff" }) do
    local key = config.current.keys[name]
    if key then
      vim.keymap.set("n", key, function()
        if not M.act(name) then
          vim.notify(S.no_change_here, vim.log.levels.INFO)
        end
      end, { buffer = buf, nowait = true })
    end
  end
end

return M
