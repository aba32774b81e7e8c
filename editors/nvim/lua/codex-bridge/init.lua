-- The Lua API. Other modules are internal and may change.
local M = {}

-- Changes settings, see |codex-bridge-settings|. They apply to processes, threads and windows that start afterwards.
function M.setup(settings)
  require("codex-bridge.config").set(settings)
end

-- Opens the chat and the prompt, and moves the cursor to the prompt.
function M.open()
  require("codex-bridge.view").open()
end

-- Opens the chat and the prompt, and keeps the current window.
function M.show()
  require("codex-bridge.view").show()
end

-- Closes both windows if the cursor is in one of them, else opens them.
function M.toggle()
  require("codex-bridge.view").toggle()
end

-- Closes both windows. The conversation continues.
function M.hide()
  require("codex-bridge.view").hide()
end

-- Opens the prompt with a quoted text below what the user has written, with room for a question above it.
function M.quote(text)
  require("codex-bridge.view").open()
  require("codex-bridge.prompt").quote(text)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
end

-- Sends a message. It starts a turn, or steers the running one. options.images is a list of paths. callback(err) is
-- called after Codex accepts the message, or with the error.
function M.send(text, options, callback)
  require("codex-bridge.session").send(text, options or {}, callback or function() end)
end

-- Interrupts the running turn.
function M.stop()
  require("codex-bridge.session").stop()
end

-- Leaves the thread; the next message starts a new one.
function M.new()
  require("codex-bridge.session").new()
end

-- Resumes a thread by its id. Without an id the user chooses a thread of the current directory. callback(err).
function M.resume(id, callback)
  local function resume(chosen)
    require("codex-bridge.view").open()
    require("codex-bridge.session").resume(chosen, callback or function() end)
  end
  if id and id ~= "" then
    resume(id)
  else
    require("codex-bridge.threads").choose(resume)
  end
end

-- Lists the threads of the current directory, to resume, rename, fork or archive one. search: a part of their names.
function M.threads(search)
  require("codex-bridge.threads").browse({ search = search ~= "" and search or nil })
end

-- Opens another chat. The current one goes on in the background.
function M.chat()
  require("codex-bridge.session").open_chat()
  require("codex-bridge.view").open()
end

-- Lists the chats, to switch to one.
function M.chats()
  require("codex-bridge.switcher").show()
end

-- Shows the first pending approval or question, and moves the cursor to it.
function M.approvals()
  require("codex-bridge.requests").show()
end

-- Answers the approval on the screen: "accept", "accept_session", "accept_always", "decline" or "cancel". It changes
-- nothing if the approval is not on the screen.
function M.answer(choice)
  require("codex-bridge.requests").answer(choice)
end

-- Shows the files, rules and limits of the policy, Codex's version, the hub, and the grants.
function M.show_status()
  require("codex-bridge.report").status()
end

-- Lists the remembered approvals; the user chooses one to revoke.
function M.grants()
  require("codex-bridge.report").grants()
end

-- Shows the decision log.
function M.decisions()
  require("codex-bridge.report").decisions()
end

-- Shows what the policy would say to a shell command; without one it asks for it.
function M.try(command)
  require("codex-bridge.policy").try(command)
end

-- Opens the file of the card under the cursor, else of the last card, at the line of its rule.
function M.open_policy()
  require("codex-bridge.policy").open()
end

-- Shows everything that is known of the card under the cursor, else of the last card.
function M.explain()
  require("codex-bridge.policy").explain()
end

-- Opens the trace of the current thread.
function M.trace()
  require("codex-bridge.trace").open()
end

-- Attaches an image to the next message: a file, or without a path the image of the clipboard.
function M.image(path)
  require("codex-bridge.image").attach(path)
end

-- Lists the changes of the last turn, to keep or undo them by file and by hunk.
function M.changes()
  require("codex-bridge.changes.list").open()
end

-- Restores the files to before a turn that the user chooses, after a preview.
function M.restore()
  require("codex-bridge.changes.restore").restore()
end

-- Undoes the last undo or restore of files, after a preview.
function M.unrestore()
  require("codex-bridge.changes.restore").unrestore()
end

-- Returns a text for statuslines: "", "codex: idle", "codex: working", "codex: 1 to answer".
function M.status()
  return require("codex-bridge.status").text()
end

-- Returns a part of the state as a text for a statusline or winbar, "" if there is none: "state", "time", "policy",
-- "model", "effort", "approval", "sandbox", "tokens", "context", "plan" or "chat".
function M.component(name)
  return require("codex-bridge.status").component(name)
end

-- Returns state ("off", "idle" or "working"), thread (id, path, cwd, model, effort, sandbox, approvalPolicy, name), turn (its id), bridge
-- (its reply to initialize), agent (Codex's user agent), and pending_requests, a number.
function M.about()
  local about = require("codex-bridge.session").about()
  about.pending_requests = require("codex-bridge.requests").count()
  return about
end

-- Sends a request to Codex or the bridge, such as "bridge/status"; callback(err, result).
function M.request(method, params, callback)
  require("codex-bridge.session").request(method, params, callback)
end

-- Stops the process. The next message restarts it.
function M.close()
  require("codex-bridge.session").close()
end

return M
