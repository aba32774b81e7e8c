-- Shows the requests of the server to the user, one at a time. If the user closes a picker without a choice, the
-- request stays pending and :CodexApprovals shows it again.
local status = require("codex-bridge.status")

local M = {}

local pending, shown = {}, nil
local changes = {} -- by item id: the content of patches, which their requests lack

local show_next

local function finish(request, answer)
  if shown == request then
    shown = nil
  end
  vim.cmd.redraw() -- removes the list of inputlist(), so that the next message needs no Enter
  if request.resolved then
    return show_next() -- cancelled before the answer
  end
  if answer == nil then
    vim.notify("codex waits for an answer: :CodexApprovals", vim.log.levels.WARN)
    return
  end
  request.resolved = true
  pending = vim.tbl_filter(function(other)
    return other ~= request
  end, pending)
  status.redraw()
  status.emit("ServerRequestResolved", { method = request.method, params = request.params, answer = answer, pending = #pending })
  request.resume(answer)
  show_next()
end

show_next = vim.schedule_wrap(function()
  local request = pending[1]
  if shown or not request then
    return
  end
  -- Keys that the user types into a text must not answer a picker.
  if vim.api.nvim_get_mode().mode ~= "n" then
    vim.api.nvim_create_autocmd("ModeChanged", { pattern = "*:n", once = true, callback = show_next })
    return
  end
  shown = request
  local finished = false
  request.dismiss = request.show(function(answer)
    if not finished then
      finished = true
      finish(request, answer)
    end
  end)
end)

-- Yields the coroutine of the request until show calls done(answer). show may return a function that closes its
-- windows.
local function wait_for_answer(method, params, show)
  local current = coroutine.running()
  pending[#pending + 1] = {
    method = method,
    params = params,
    show = show,
    resume = function(answer)
      coroutine.resume(current, answer)
    end,
  }
  status.redraw()
  status.emit("ServerRequest", { method = method, params = params, pending = #pending })
  show_next()
  return coroutine.yield()
end

-- The module for each method. It has show(params, done, item), which calls done(answer), and response(answer, params).
local modules = {
  ["item/commandExecution/requestApproval"] = "command_execution",
  ["item/fileChange/requestApproval"] = "file_change",
  ["item/permissions/requestApproval"] = "permissions",
  ["item/tool/requestUserInput"] = "user_input",
  ["mcpServer/elicitation/request"] = "elicitation",
}

-- Handles a request of the server; returns result, error. It rejects unknown methods.
function M.handle(method, params)
  if method == "item/tool/call" then
    return require("codex-bridge.tools").call(params)
  end
  local name = modules[method]
  if not name then
    return nil, { code = -32601, message = "Neovim does not support " .. method }
  end
  local module = require("codex-bridge.requests." .. name)
  local answer = wait_for_answer(method, params, function(done)
    return module.show(params, done, changes[params.itemId])
  end)
  return module.response(answer, params)
end

-- Keeps the content of a patch until its turn completes.
function M.item_started(item, turn)
  if item.type == "fileChange" then
    changes[item.id] = { changes = item.changes, turn = turn }
  end
end

-- Cancels the requests of a turn or an item (kind "turn" or "item"), or all requests without arguments.
function M.cancel(kind, id)
  if kind and not id then
    return
  end
  local key = kind and kind .. "Id"
  local remaining = {}
  for _, request in ipairs(pending) do
    if key and request.params[key] ~= id then
      remaining[#remaining + 1] = request
    else
      request.resolved = true
      if request.dismiss then
        request.dismiss()
      end
      if shown == request then
        shown = nil
      end
    end
  end
  if #remaining ~= #pending then
    pending = remaining
    status.redraw()
    show_next()
  end
  for item, change in pairs(changes) do
    if not kind or (kind == "turn" and change.turn == id) or (kind == "item" and item == id) then
      changes[item] = nil
    end
  end
end

-- Returns the number of pending requests.
function M.count()
  return #pending
end

-- Shows the first pending request again.
function M.show()
  if #pending == 0 then
    return vim.notify("codex has no pending request", vim.log.levels.INFO)
  end
  if shown and shown.dismiss then
    shown.dismiss()
  end
  shown = nil
  show_next()
end

return M
