-- The Lua API. What is not here is not promised to stay as it is.
local M = {}

-- Changes settings, see |codex-bridge-settings|. Not needed for the defaults. They count
-- for what is started or opened from then on.
function M.setup(settings)
  require("codex-bridge.config").set(settings)
end

-- Opens the chat and the prompt, and goes to the prompt.
function M.open()
  require("codex-bridge.view").open()
end

-- Opens them and stays in the window at hand.
function M.show()
  require("codex-bridge.view").show()
end

-- Closes the windows. The conversation goes on.
function M.hide()
  require("codex-bridge.view").hide()
end

-- Opens the prompt with a text in it, to write a question above.
function M.quote(text)
  require("codex-bridge.view").open()
  require("codex-bridge.prompt").quote(text)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
end

-- Sends a text: a new turn, or more to say to the one that runs. options.images is a list
-- of paths; callback(err) is called when Codex has taken it.
function M.send(text, options, callback)
  require("codex-bridge.session").send(text, options or {}, callback or function() end)
end

-- Interrupts the running turn.
function M.stop()
  require("codex-bridge.session").stop()
end

-- The next text begins a new thread.
function M.new()
  require("codex-bridge.session").new()
end

-- Takes up a thread by its id; without one, lets you choose among those of this folder.
-- callback(err).
function M.resume(id, callback)
  local function take(chosen)
    require("codex-bridge.view").open()
    require("codex-bridge.session").resume(chosen, callback or function() end)
  end
  if id and id ~= "" then
    take(id)
  else
    require("codex-bridge.picker").threads(take)
  end
end

-- Asks again about what waits for an answer.
function M.approvals()
  require("codex-bridge.ask").again()
end

-- Opens the record of the thread at hand.
function M.trace()
  require("codex-bridge.trace").open()
end

-- Puts a picture to the next text: a file, or without one the clipboard's.
function M.image(path)
  require("codex-bridge.image").attach(path)
end

-- For statuslines: "", "codex: idle", "codex: working", "codex: 1 to answer".
function M.status()
  return require("codex-bridge.status").text()
end

-- state ("off", "idle" or "working"), thread (id, path, model, sandbox, approvalPolicy), turn,
-- bridge (what it has said of itself), agent, and asked, the number of open questions.
function M.about()
  local about = require("codex-bridge.session").about()
  about.asked = require("codex-bridge.ask").count()
  return about
end

-- A request of your own to Codex or the bridge, such as "bridge/status"; callback(err, result).
function M.request(method, params, callback)
  require("codex-bridge.session").request(method, params, callback)
end

-- Ends codex. What is sent next starts it again.
function M.close()
  require("codex-bridge.session").close()
end

return M
