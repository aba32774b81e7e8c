-- The form of an MCP server: one question after the other, by vim.ui.input and vim.ui.select.
local display = require("codex-bridge.display")
local S = require("codex-bridge.strings")

local M = {}

local formats = {
  email = "^[^%s@]+@[^%s@]+%.[^%s@]+$",
  uri = "^%a[%w+.-]*:%S+$",
  date = "^%d%d%d%d%-%d%d%-%d%d$",
}

-- Returns the value of a text, or nil and the reason why it is not valid.
function M.parse(title, schema, text)
  if schema.type == "number" or schema.type == "integer" then
    local value = tonumber(text)
    if not value or value ~= value or math.abs(value) == math.huge then
      return nil, S.not_a_number:format(title)
    elseif schema.type == "integer" and value % 1 ~= 0 then
      return nil, S.not_an_integer:format(title)
    elseif schema.minimum and value < schema.minimum then
      return nil, S.too_small:format(title, tostring(schema.minimum))
    elseif schema.maximum and value > schema.maximum then
      return nil, S.too_large:format(title, tostring(schema.maximum))
    end
    return value
  end
  local length = vim.fn.strchars(text)
  if schema.minLength and length < schema.minLength then
    return nil, S.too_short:format(title, schema.minLength)
  elseif schema.maxLength and length > schema.maxLength then
    return nil, S.too_long:format(title, schema.maxLength)
  elseif formats[schema.format] and not text:match(formats[schema.format]) then
    return nil, S.not_in_format[schema.format]:format(title)
  end
  return text
end

-- Moves the default to the front, so that it is the first choice.
local function default_first(items, default)
  table.sort(items, function(a, b)
    local first, second = a.value == default, b.value == default
    if first ~= second then
      return first
    end
    return a.at < b.at
  end)
  return items
end

-- Asks for a choice; callback(value, is_skipped).
local function choose(prompt, values, labels, default, is_required, callback)
  local items = {}
  for i, value in ipairs(values) do
    items[i] = { value = value, label = labels[i], at = i }
  end
  if default ~= nil then
    default_first(items, default)
  end
  if not is_required then
    items[#items + 1] = { label = S.skip, is_skipped = true }
  end
  vim.ui.select(items, {
    prompt = prompt,
    kind = "codex-question",
    format_item = function(item)
      return item.label
    end,
  }, function(item)
    if item == nil then
      return callback(nil, false)
    end
    callback(item.value, item.is_skipped)
  end)
end

-- Asks for one field; callback(value, is_skipped). Both are nil or false if the user closes the question.
local function ask_field(name, schema, is_required, draft, callback)
  local title = display.value(schema.title or schema.description or name)
  local prompt = title .. (is_required and S.required or "")
  local default = draft
  if default == nil then
    default = schema.default
  end
  if schema.type == "boolean" then
    return choose(prompt, { true, false }, { S.yes, S.no }, default, is_required, callback)
  elseif schema.enum then
    local names = schema.enumNames or {}
    local labels = {}
    for i, value in ipairs(schema.enum) do
      labels[i] = display.value(tostring(names[i] or value))
    end
    return choose(prompt, schema.enum, labels, default, is_required, callback)
  end
  local function ask(text)
    vim.ui.input({ prompt = prompt .. ": ", default = text }, function(given)
      if given == nil then
        return callback(nil, false)
      elseif given == "" and not is_required then
        return callback(nil, true)
      end
      local value, why = M.parse(title, schema, given)
      if value ~= nil and given == "" then
        value, why = nil, S.is_required:format(title)
      end
      if value == nil then
        vim.notify(why, vim.log.levels.WARN)
        return ask(given) -- only this field, not the form
      end
      callback(value, false)
    end)
  end
  ask(default ~= nil and tostring(default) or nil)
end

-- Asks for the fields of a schema, in the order of their names. draft keeps the values that the user has given;
-- done(content), or done(nil) if the user closes a question.
function M.ask(schema, draft, done)
  local names = vim.tbl_keys(schema.properties)
  table.sort(names)
  local content = vim.empty_dict()
  local function ask_from(i)
    local name = names[i]
    if not name then
      return done(content)
    end
    local is_required = vim.tbl_contains(schema.required or {}, name)
    ask_field(name, schema.properties[name], is_required, draft[name], function(value, is_skipped)
      if value == nil and not is_skipped then
        return done(nil)
      end
      content[name], draft[name] = value, value
      ask_from(i + 1)
    end)
  end
  ask_from(1)
end

return M
