-- What an MCP server asks: consent to a call, a form, or to visit an address.
local granted = require("codex-bridge.ask.granted")

local M = {}

local function consent(prompt, done, more)
  local choices = { { action = "accept", label = more or "Accept" }, { action = "decline", label = "Decline" } }
  vim.ui.select(choices, {
    prompt = prompt,
    kind = "codex-approval",
    format_item = function(choice)
      return choice.label
    end,
  }, function(choice)
    done(choice and choice.action)
  end)
end

-- One field of a form; got(nil) when the person has closed it.
local function field(name, schema, got)
  local prompt = schema.title or schema.description or name
  if schema.type == "boolean" then
    return vim.ui.select({ true, false }, { prompt = prompt, format_item = function(v) return v and "Yes" or "No" end }, got)
  elseif schema.enum then
    return vim.ui.select(schema.enum, { prompt = prompt }, got)
  end
  local default = schema.default ~= nil and tostring(schema.default) or nil
  vim.ui.input({ prompt = prompt .. ": ", default = default }, function(text)
    if text and (schema.type == "number" or schema.type == "integer") then
      return got(tonumber(text))
    end
    got(text)
  end)
end

local function form(schema, done)
  local names = vim.tbl_keys(schema.properties or {})
  table.sort(names)
  local content = vim.empty_dict()
  local function from(i)
    local name = names[i]
    if not name then
      return done({ action = "accept", content = content })
    end
    field(name, schema.properties[name], function(value)
      if value == nil then
        return done(nil)
      end
      content[name] = value
      from(i + 1)
    end)
  end
  from(1)
end

function M.show(p, done)
  local prompt = ("%s asks: %s"):format(granted.value(p.serverName), granted.visible(p.message or p.title or ""))
  local meta = p._meta
  if type(meta) == "table" and meta.tool_name then
    prompt = ("%s — %s %s"):format(prompt, granted.value(meta.tool_name), granted.json(meta.tool_params or meta.tool_params_display or vim.empty_dict()))
  end
  local function only(action)
    done(action and { action = action })
  end
  if p.mode == "url" then
    return consent(prompt .. " — " .. granted.value(p.url), function(action)
      if action == "accept" then
        vim.ui.open(p.url)
      end
      only(action)
    end, "Open the address")
  elseif p.mode ~= "form" then
    return only("decline") -- Neovim has nothing to answer it with
  end
  consent(prompt, function(action)
    if action ~= "accept" or not next((p.requestedSchema or {}).properties or {}) then
      return only(action)
    end
    form(p.requestedSchema, done)
  end)
end

function M.answer(given)
  local content = given.content
  if given.action == "accept" and not content then
    content = vim.empty_dict()
  end
  return { action = given.action, content = content }
end

return M
