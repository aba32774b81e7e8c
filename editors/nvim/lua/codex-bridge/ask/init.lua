-- What Codex asks a person, one question at a time. A picker that is closed without a
-- choice is no answer: the question waits, :CodexApprovals brings it back.
local events = require("codex-bridge.events")

local M = {}

local waiting, showing = {}, nil
local changes = {} -- what patches would write, by item: their questions have no paths

local show_next

local function finish(asked, answer)
  if showing == asked then
    showing = nil
  end
  vim.cmd.redraw() -- the list of inputlist() is gone, so that a message needs no Enter
  if asked.over then
    return show_next() -- answered too late: nobody waits for it any more
  end
  if answer == nil then
    vim.notify("codex waits for an answer: :CodexApprovals", vim.log.levels.WARN)
    return
  end
  asked.over = true
  waiting = vim.tbl_filter(function(other)
    return other ~= asked
  end, waiting)
  events.changed()
  events.emit("Answered", { method = asked.method, params = asked.params, answer = answer, left = #waiting })
  asked.resume(answer)
  show_next()
end

show_next = vim.schedule_wrap(function()
  local asked = waiting[1]
  if showing or not asked then
    return
  end
  -- Keys that are meant for a text must not choose.
  if vim.api.nvim_get_mode().mode ~= "n" then
    vim.api.nvim_create_autocmd("ModeChanged", { pattern = "*:n", once = true, callback = show_next })
    return
  end
  showing = asked
  local once = false
  asked.dismiss = asked.show(function(answer)
    if not once then
      once = true
      finish(asked, answer)
    end
  end)
end)

-- Waits, in the request's coroutine, for what show(done) says. show may return a function
-- that takes the question off the screen.
local function wait(method, params, show)
  local here = coroutine.running()
  waiting[#waiting + 1] = {
    method = method,
    params = params,
    show = show,
    resume = function(answer)
      coroutine.resume(here, answer)
    end,
  }
  events.changed()
  events.emit("Asked", { method = method, params = params, count = #waiting })
  show_next()
  return coroutine.yield()
end

local questions = {
  ["item/commandExecution/requestApproval"] = "command",
  ["item/fileChange/requestApproval"] = "patch",
  ["item/permissions/requestApproval"] = "permissions",
  ["item/tool/requestUserInput"] = "question",
  ["mcpServer/elicitation/request"] = "elicitation",
}

-- Answers a request of the server; what is not known here is refused. A question's module
-- has show(params, done, changes), and answer(what done was given, params).
function M.request(method, params)
  if method == "item/tool/call" then
    return require("codex-bridge.tools").call(params)
  end
  local name = questions[method]
  if not name then
    return nil, { code = -32601, message = "Neovim has no answer to " .. method }
  end
  local question = require("codex-bridge.ask." .. name)
  local answer = wait(method, params, function(done)
    return question.show(params, done, changes[params.itemId])
  end)
  return question.answer(answer, params)
end

-- Keeps what a patch would write until its turn ends.
function M.started(item, turn)
  if item.type == "fileChange" then
    changes[item.id] = { changes = item.changes, turn = turn }
  end
end

-- Nobody waits any more for the answers to the questions of a turn or an item, or, without
-- arguments, to any.
function M.forget(kind, id)
  if kind and not id then
    return
  end
  local key = kind and kind .. "Id"
  local left = {}
  for _, asked in ipairs(waiting) do
    if key and asked.params[key] ~= id then
      left[#left + 1] = asked
    else
      asked.over = true
      if asked.dismiss then
        asked.dismiss()
      end
      if showing == asked then
        showing = nil
      end
    end
  end
  if #left ~= #waiting then
    waiting = left
    events.changed()
    show_next()
  end
  for item, change in pairs(changes) do
    if not kind or (kind == "turn" and change.turn == id) or (kind == "item" and item == id) then
      changes[item] = nil
    end
  end
end

function M.count()
  return #waiting
end

-- Shows the first question again.
function M.again()
  if #waiting == 0 then
    return vim.notify("codex asks nothing", vim.log.levels.INFO)
  end
  if showing and showing.dismiss then
    showing.dismiss()
  end
  showing = nil
  show_next()
end

return M
