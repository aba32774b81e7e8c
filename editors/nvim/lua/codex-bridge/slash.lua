-- Commands that the user writes into the prompt, such as /model. They are also arguments of :Codex.
local S = require("codex-bridge.strings")

local M = {}

local function api()
  return require("codex-bridge")
end

local function settings()
  return require("codex-bridge.settings")
end

-- By name: what it does with the text after it.
local commands = {
  new = function() api().new() end,
  review = function(text) require("codex-bridge.work").review(text) end,
  compact = function() require("codex-bridge.work").compact() end,
  model = function(text) settings().model(text) end,
  effort = function(text) settings().effort(text) end,
  permissions = function() settings().permissions() end,
  approval = function(text) settings().approval(text) end,
  sandbox = function(text) settings().sandbox(text) end,
  status = function() api().show_status() end,
  diff = function() require("codex-bridge.work").diff() end,
  threads = function(text) api().threads(text) end,
  rename = function(text) require("codex-bridge.threads").rename(text) end,
  fork = function() require("codex-bridge.threads").fork() end,
  archive = function() require("codex-bridge.threads").archive() end,
  chats = function() api().chats() end,
  chat = function() api().chat() end,
  image = function(text) api().image(text) end,
  stop = function() api().stop() end,
}

-- Returns the commands that begin with a text: { name, description }.
function M.match(beginning)
  local found = {}
  for name in pairs(commands) do
    if vim.startswith(name, beginning) then
      found[#found + 1] = { name = name, description = S.slash[name] }
    end
  end
  table.sort(found, function(a, b)
    return a.name < b.name
  end)
  return found
end

-- Runs the command of a text, and then done(). A text without one is sent by send(). If the command is unknown, the user
-- chooses whether the text is sent.
function M.run(text, send, done)
  local name, rest = text:match("^/(%a[%a-]*)%f[%s%z](.*)$")
  if not name then
    return send()
  elseif commands[name] then
    done()
    return commands[name](vim.trim(rest))
  end
  vim.ui.select({ S.send_as_text, S.back_to_prompt }, {
    prompt = S.unknown_slash:format(name),
    kind = "codex-slash",
  }, function(choice)
    if choice == S.send_as_text then
      send()
    end
  end)
end

return M
