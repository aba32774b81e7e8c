-- Questions of the model.
local M = {}

local OTHER = "Something else…"

local function write(q, got)
  if q.isSecret then
    return got(vim.fn.inputsecret(q.question .. " "))
  end
  vim.ui.input({ prompt = q.question .. " " }, got)
end

local function choose(q, got)
  local choices = vim.deepcopy(q.options)
  if q.isOther ~= false then
    choices[#choices + 1] = { label = OTHER }
  end
  vim.ui.select(choices, {
    prompt = q.question,
    kind = "codex-question",
    format_item = function(o)
      return o.description and o.description ~= "" and ("%s: %s"):format(o.label, o.description) or o.label
    end,
  }, function(choice)
    if choice and choice.label == OTHER then
      return write(q, got)
    end
    got(choice and choice.label)
  end)
end

function M.show(p, done)
  local given = {}
  local function from(i)
    local q = p.questions[i]
    if not q then
      return done(given)
    end
    local ask = q.options and #q.options > 0 and choose or write
    ask(q, function(text)
      if text == nil then
        return done(nil)
      end
      given[q.id] = { answers = { text } }
      from(i + 1)
    end)
  end
  from(1)
end

function M.answer(given)
  return { answers = next(given) and given or vim.empty_dict() }
end

return M
