-- mcpServer/elicitation/request: an MCP server wants consent to a call, the fields of a form, or a visit to a URL.
local describe = require("codex-bridge.requests.describe")

local M = {}

local function consent(prompt, done, accept_label)
  local choices = { { action = "accept", label = accept_label or "Accept" }, { action = "decline", label = "Decline" } }
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

-- Asks for one field of a form; callback(nil) if the user closes the picker.
local function ask_field(name, schema, callback)
  local prompt = schema.title or schema.description or name
  if schema.type == "boolean" then
    return vim.ui.select({ true, false }, { prompt = prompt, format_item = function(v) return v and "Yes" or "No" end }, callback)
  elseif schema.enum then
    return vim.ui.select(schema.enum, { prompt = prompt }, callback)
  end
  local default = schema.default ~= nil and tostring(schema.default) or nil
  vim.ui.input({ prompt = prompt .. ": ", default = default }, function(text)
    if text and (schema.type == "number" or schema.type == "integer") then
      return callback(tonumber(text))
    end
    callback(text)
  end)
end

local function ask_form(schema, done)
  local names = vim.tbl_keys(schema.properties or {})
  table.sort(names)
  local content = vim.empty_dict()
  local function ask_from(i)
    local name = names[i]
    if not name then
      return done({ action = "accept", content = content })
    end
    ask_field(name, schema.properties[name], function(value)
      if value == nil then
        return done(nil)
      end
      content[name] = value
      ask_from(i + 1)
    end)
  end
  ask_from(1)
end

function M.show(p, done)
  local prompt = ("%s asks: %s"):format(describe.value(p.serverName), describe.visible(p.message or p.title or ""))
  local meta = p._meta
  if type(meta) == "table" and meta.tool_name then
    prompt = ("%s — %s %s"):format(prompt, describe.value(meta.tool_name), describe.json(meta.tool_params or meta.tool_params_display or vim.empty_dict()))
  end
  local function finish(action)
    done(action and { action = action })
  end
  if p.mode == "url" then
    return consent(prompt .. " — " .. describe.value(p.url), function(action)
      if action == "accept" then
        vim.ui.open(p.url)
      end
      finish(action)
    end, "Open the URL")
  elseif p.mode ~= "form" then
    return finish("decline") -- an unknown mode
  end
  consent(prompt, function(action)
    if action ~= "accept" or not next((p.requestedSchema or {}).properties or {}) then
      return finish(action)
    end
    ask_form(p.requestedSchema, done)
  end)
end

function M.response(answer)
  local content = answer.content
  if answer.action == "accept" and not content then
    content = vim.empty_dict()
  end
  return { action = answer.action, content = content }
end

return M
