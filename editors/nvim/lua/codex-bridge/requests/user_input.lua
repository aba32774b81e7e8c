-- item/tool/requestUserInput: the model asks questions.
local display = require("codex-bridge.display")
local S = require("codex-bridge.strings")

local M = {}

-- Returns a text of the model as a line.
local function line(text)
  return (display.visible(text):gsub("%s*\n%s*", " "))
end

local function input(q, callback)
  local prompt = line(q.question) .. " "
  if q.isSecret then
    local ok, text = pcall(vim.fn.inputsecret, prompt) -- <C-c> raises an error, <Esc> gives no text
    return callback(ok and text ~= "" and text or nil)
  end
  vim.ui.input({ prompt = prompt }, callback)
end

local function choose(q, callback)
  local choices = vim.deepcopy(q.options)
  if q.isOther ~= false then
    choices[#choices + 1] = { label = S.something_else }
  end
  vim.ui.select(choices, {
    prompt = line(q.question),
    kind = "codex-question",
    format_item = function(o)
      return line(o.description and o.description ~= "" and ("%s: %s"):format(o.label, o.description) or o.label)
    end,
  }, function(choice)
    if choice and choice.label == S.something_else then
      return input(q, callback)
    end
    callback(choice and choice.label)
  end)
end

-- The questions are modal: they wait until the user is in normal mode.
M.is_modal = true

function M.show(request, done)
  local p, answers = request.params, {}
  local function ask_from(i)
    local q = p.questions[i]
    if not q then
      return done(answers)
    end
    local show = q.options and #q.options > 0 and choose or input
    show(q, function(text)
      if text == nil then
        return done(nil)
      end
      answers[q.id] = { answers = { text } }
      ask_from(i + 1)
    end)
  end
  ask_from(1)
end

function M.response(answers)
  return { answers = next(answers) and answers or vim.empty_dict() }
end

return M
