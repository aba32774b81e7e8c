-- Describes the permissions that an approval grants. It shows unknown fields as JSON, so that nothing is hidden. The
-- VS Code extension has the same texts in src/core/describe.ts.
local display = require("codex-bridge.display")
local S = require("codex-bridge.strings")

local M = {}

local json, value = display.json, display.value

-- Returns a string as it is, and any other value as JSON.
local function text(one)
  return type(one) == "string" and value(one) or json(one)
end

local function is_empty(value)
  return value == nil or value == vim.NIL or (type(value) == "table" and next(value) == nil)
end

local function is_object(value)
  return type(value) == "table" and not is_empty(value) and not vim.islist(value)
end

-- Returns the members of an object, except those with these names and empty ones.
local function omit(object, ...)
  local names, rest = { ... }, {}
  for name, value in pairs(object) do
    if not vim.tbl_contains(names, name) and not is_empty(value) then
      rest[name] = value
    end
  end
  return rest
end

local function json_suffix(rest)
  return is_empty(rest) and "" or " " .. json(rest)
end

local function describe_access(mode, path)
  mode = value(mode)
  if type(path) == "string" then
    return mode .. " " .. value(path)
  elseif is_object(path) then
    if path.type == "path" and type(path.path) == "string" and path.pattern == nil then
      return mode .. " " .. value(path.path) .. json_suffix(omit(path, "type", "path"))
    elseif path.type == "glob_pattern" and type(path.pattern) == "string" and path.path == nil then
      return mode .. S.files_that_match:format(value(path.pattern)) .. json_suffix(omit(path, "type", "pattern"))
    end
  end
  return mode .. " " .. json(path)
end

local function describe_entry(entry)
  if not is_object(entry) or type(entry.access) ~= "string" then
    return json(entry)
  end
  return describe_access(entry.access, entry.path) .. json_suffix(omit(entry, "access", "path"))
end

local function to_list(value)
  if is_empty(value) then
    return {}
  end
  return type(value) == "table" and vim.islist(value) and value or { value }
end

-- Returns a text for each permission of a request.
function M.permissions(permissions)
  if is_empty(permissions) then
    return {}
  elseif not is_object(permissions) then
    return { json(permissions) }
  end
  local parts, seen = {}, {}
  local function add(part)
    if not seen[part] then -- Codex sends a path both in a list and in an entry
      seen[part] = true
      parts[#parts + 1] = part
    end
  end
  local files, network = permissions.fileSystem, permissions.network
  local rest = omit(permissions, is_object(files) and "fileSystem", is_object(network) and "network")
  if is_object(files) then
    for _, mode in ipairs({ "read", "write" }) do
      for _, path in ipairs(to_list(files[mode])) do
        add(describe_access(mode, path))
      end
    end
    for _, entry in ipairs(to_list(files.entries)) do
      add(describe_entry(entry))
    end
    local others = omit(files, "read", "write", "entries")
    if not is_empty(others) then
      add(json({ fileSystem = others }))
    end
  end
  if is_object(network) then
    if network.enabled == true then
      add(S.use_network)
    end
    local others = omit(network, type(network.enabled) == "boolean" and "enabled")
    if not is_empty(others) then
      add(json({ network = others }))
    end
  end
  if not is_empty(rest) then
    add(json(rest))
  end
  return parts
end

-- Describes a rule for a host: "always allow the host h".
function M.host_rule(rule)
  if not is_object(rule) or type(rule.host) ~= "string" or type(rule.action) ~= "string" then
    return json(rule)
  end
  return S.always_host:format(value(rule.action), value(rule.host)) .. json_suffix(omit(rule, "host", "action"))
end

-- Describes a rule for commands: "always allow commands that start with ls".
function M.command_rule(words)
  if type(words) ~= "table" or not vim.islist(words) then
    return json(words)
  end
  local are_plain = vim.iter(words):all(function(word)
    return type(word) == "string" and word:find("^[%w._/+@%%=*\128-\255-]+$") ~= nil and value(word) == word
  end)
  return S.always_command:format(are_plain and table.concat(words, " ") or json(words))
end

-- The bridge begins the reason of a request that leaves the sandbox with MARK. STATED is between its sentence and the words
-- of the model, which have no double quotes.
local MARK = "[codex-bridge: leaves the sandbox] "
local STATED = '. Stated reason (not checked): "'

-- Returns the position after the last occurrence of a text, and that before it; nil if there is none.
local function find_last(text, part)
  local first, last
  local at = 1
  while true do
    local from, to = text:find(part, at, true)
    if not from then
      return last and last + 1, first and first - 1
    end
    first, last, at = from, to, from + 1
  end
end

-- Reports whether a request of a tool call is the bridge's own. Under the gate Codex itself asks only about what leaves the
-- sandbox, which the bridge marks, and about a host, more permissions or a part of a call.
local function is_of_gate(p)
  local about = require("codex-bridge.session").about()
  local policy = about.bridge and about.bridge.policy or {}
  return policy.gate == true and is_empty(p.networkApprovalContext) and is_empty(p.additionalPermissions) and is_empty(p.approvalId)
    and (is_empty(p.kind) or p.kind == "command") and is_empty(p.permissions)
end

-- Returns the policy's reason for a request, what leaves the sandbox, and the words of the model; each is nil if there is
-- none. Only under a policy, when requests have the member "bridge", the mark is the bridge's: a model can write it, too.
function M.reason(p)
  local reason = p.reason
  if type(reason) ~= "string" or reason == "" then
    return nil, nil, nil
  elseif p.bridge and vim.startswith(reason, MARK) then
    local text = reason:sub(#MARK + 1)
    local after, before = find_last(text, STATED)
    if after and vim.endswith(text, '"') and after < #text then
      return nil, display.line(text:sub(1, before)), display.visible(text:sub(after, -2))
    end
    return nil, display.line(text), nil
  elseif p.bridge and is_of_gate(p) then
    return display.line(reason), nil, nil
  end
  return nil, nil, display.visible(reason)
end

-- Returns the message of a question of the bridge about a tool, and what leaves the sandbox; nil if it is not one.
function M.tool_question(message)
  local text, leaves = message:match('^(Allow the tool ".-" to run%?) %[codex%-bridge: leaves the sandbox%] (.*)$')
  return text and display.visible(text), leaves and display.line(leaves)
end

-- Returns the row of a card with words of the model, as a quotation.
function M.quotation(said)
  local lines = vim.tbl_map(function(line)
    return S.quote .. line
  end, vim.split(said, "\n", { plain = true }))
  table.insert(lines, 1, S.stated)
  return { S.reason, table.concat(lines, "\n"), "Italic" }
end

-- Returns a text for each field of a command's approval, except the command, its folder and its reason.
function M.command(p)
  local parts = {}
  local function add(part)
    parts[#parts + 1] = part
  end
  local network, hosts = p.networkApprovalContext, p.proposedNetworkPolicyAmendments
  local rest = omit(
    p, "threadId", "turnId", "itemId", "approvalId", "startedAtMs", "kind", "reason", "command", "cwd", "commandActions",
    "availableDecisions", "bridge", "networkApprovalContext", "additionalPermissions", "proposedExecpolicyAmendment",
    "proposedNetworkPolicyAmendments", p.environmentId == "local" and "environmentId"
  )
  if is_object(network) and type(network.host) == "string" then
    add(S.network_host:format(value(network.host), is_empty(network.protocol) and "" or S.by_protocol:format(text(network.protocol)))
      .. json_suffix(omit(network, "host", "protocol")))
  elseif not is_empty(network) then
    rest.networkApprovalContext = network
  end
  for _, part in ipairs(M.permissions(p.additionalPermissions)) do
    add(S.beyond_sandbox:format(part))
  end
  if not is_empty(p.proposedExecpolicyAmendment) then
    add(S.proposed_rule:format(M.command_rule(p.proposedExecpolicyAmendment)))
  end
  for _, rule in ipairs(to_list(hosts)) do
    add(S.proposed_rule:format(M.host_rule(rule)))
  end
  if not is_empty(rest) then
    add(S.other_fields:format(json(rest)))
  end
  return parts
end

return M
