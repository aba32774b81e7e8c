-- Reports: the status, the grants and the decision log.
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")

local M = {}

local ns = vim.api.nvim_create_namespace("codex-bridge.report")

local function visible(text)
  return require("codex-bridge.display").line(tostring(text))
end

-- Shows lines in a split. places: origins by line; on_enter(line): the action of <CR>.
local function show_lines(name, lines, places, keys, on_enter)
  local old = vim.fn.bufnr("^" .. vim.fn.escape(name, "*?[]") .. "$")
  if old > 0 then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  vim.cmd("botright split")
  vim.cmd.enew()
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile, vim.bo[buf].buflisted = "nofile", "wipe", false, false
  vim.api.nvim_buf_set_name(buf, name)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].filetype, vim.bo[buf].modifiable = "codex-report", false
  local o = vim.wo[0][0]
  o.wrap, o.number, o.relativenumber, o.winbar = true, false, false, require("codex-bridge.ui").escape(keys)
  vim.api.nvim_win_set_height(0, math.min(#lines + 1, math.floor(vim.o.lines / 2)))
  local function line_number()
    return vim.api.nvim_win_get_cursor(0)[1]
  end
  local function open_place()
    local origin = places[line_number()] or places.default
    vim.api.nvim_win_close(0, true)
    require("codex-bridge.policy").open_place(origin)
  end
  local function map(key, action)
    if key then
      vim.keymap.set("n", key, action, { buffer = buf, nowait = true })
    end
  end
  map(config.current.keys.open_policy, open_place)
  map("<CR>", on_enter and function() on_enter(line_number()) end or open_place)
  map("q", function() vim.api.nvim_win_close(0, true) end)
  return buf
end

-- Shows rows of { label, text, origin }. origin: the place of rows that have none.
function M.show(name, rows, origin)
  local width, lines, places, labels = 0, {}, { default = origin }, {}
  for _, row in ipairs(rows) do
    width = math.max(width, vim.fn.strdisplaywidth(row[1]))
  end
  for _, row in ipairs(rows) do
    for i, line in ipairs(vim.split(row[2], "\n", { plain = true })) do
      local head = i == 1 and row[1] or ""
      labels[#lines] = #head
      lines[#lines + 1] = head .. (" "):rep(width - vim.fn.strdisplaywidth(head)) .. "  " .. line
      places[#lines] = row[3]
    end
  end
  local buf = show_lines(name, lines, places, S.report_keys:format(config.current.keys.open_policy or "<CR>"))
  for row, length in pairs(labels) do
    vim.api.nvim_buf_set_extmark(buf, ns, row, 0, { end_col = length, hl_group = "Title" })
  end
end

local function fail(err)
  vim.notify(S.error:format(err.message or err), vim.log.levels.ERROR)
end

-- Returns why a program of vim.system has failed.
function M.failure(command, out)
  local said, line = vim.trim(out.stderr or ""), table.concat(command, " ")
  if said ~= "" then
    return said
  end
  return out.code == 124 and S.program_timed_out:format(line) or S.program_failed:format(line, out.code, out.signal)
end

local function grant_line(grant)
  return S.grant_line:format(grant.remember, visible(grant.tool), require("codex-bridge.display").value(grant.what), visible(grant.expires), visible(grant.client))
end

local function rule_line(rule)
  local what = {}
  for _, key in ipairs({ "tool", "command", "path" }) do
    if rule[key] then
      what[#what + 1] = visible(rule[key])
    end
  end
  return S.rule_line:format(rule.decision, table.concat(what, " "), rule.reason and " — " .. visible(rule.reason) or "")
end

local function codex_text(codex)
  if not codex.version or codex.version == "" then
    return codex.fault and visible(codex.fault) or S.status_unknown
  elseif not codex.tested or codex.tested == codex.version then
    return S.status_tested:format(codex.version)
  end
  return S.status_untested:format(codex.version, codex.tested)
end

local function approvals_text(c)
  local timeout = S.duration(c.timeoutMs)
  if c.remember == "off" then
    return S.status_approvals_off:format(timeout)
  end
  return S.status_approvals_kept:format(timeout, c.remember, S.duration(c.rememberMs))
end

local function status_rows(s, grants)
  local c = s.configuration
  local rows = {}
  local function add(label, text, origin)
    rows[#rows + 1] = { label, text, origin }
  end
  add(S.status_bridge, "codex-bridge " .. s.version)
  add(S.status_codex, codex_text(s.codex))
  add(S.status_policy, S.status_counts:format(s.policy.mode .. (s.policy.gate and S.gate or ""), s.policy.rewritten, s.policy.refused))
  if c then
    add(S.status_profile, c.profile ~= "" and c.profile or S.status_no_profile)
    add(S.status_limits, S.status_limits_text:format(c.sandbox, table.concat(c.approval or {}, ", "), c.escalation))
    add(S.status_approvals, approvals_text(c))
  end
  add(S.status_hub, s.clients and S.status_hub_on:format(s.clients) or S.status_hub_off)
  add(S.status_hooks, s.hooks.active and S.status_active or S.status_inactive:format(s.hooks.reason or ""))
  local details = require("codex-bridge.status").details()
  add(S.status_thread, require("codex-bridge.session").about().thread and details or S.status_no_thread)
  if c then
    for i, file in ipairs(c.files) do
      add(i == 1 and S.status_files or "", file, ("%s:1"):format(file))
    end
    if #c.files == 0 then
      add(S.status_files, S.status_no_files)
    end
    for i, rule in ipairs(c.rules) do
      add(i == 1 and S.status_rules or "", ("%s  %s"):format(rule_line(rule), require("codex-bridge.policy").place_text(rule.origin)), rule.origin)
    end
    if c.ruleCount > #c.rules then
      add("", S.and_more:format(c.ruleCount - #c.rules))
    elseif #c.rules == 0 then
      add(S.status_rules, S.status_none)
    end
  end
  for i, grant in ipairs(grants) do
    add(i == 1 and S.status_grants or "", grant_line(grant))
  end
  if #grants == 0 then
    add(S.status_grants, S.status_none)
  end
  return rows
end

-- Shows the status.
function M.status()
  local session = require("codex-bridge.session")
  session.bridge_request("bridge/status", {}, function(err, s)
    if err then
      return fail(err)
    end
    session.bridge_request("bridge/grant/list", {}, function(failed, result)
      if failed then
        return fail(failed)
      end
      M.show("codex://status", status_rows(s, result.grants or {}))
    end)
  end)
end

local function revoke(grants)
  local ids = vim.tbl_map(function(grant)
    return grant.id
  end, grants)
  require("codex-bridge.session").bridge_request("bridge/grant/revoke", { ids = ids }, function(err, result)
    if err then
      return fail(err)
    elseif #result.revoked == 0 then
      return vim.notify(S.revoked_none, vim.log.levels.WARN)
    end
    local names = vim.tbl_map(function(grant)
      return require("codex-bridge.display").value(grant.what)
    end, grants)
    vim.notify(S.revoked:format(table.concat(names, ", ")), vim.log.levels.INFO)
  end)
end

-- Lists the grants; the user chooses what to revoke.
function M.grants()
  require("codex-bridge.session").bridge_request("bridge/grant/list", {}, function(err, result)
    if err then
      return fail(err)
    elseif #(result.grants or {}) == 0 then
      return vim.notify(S.no_grants, vim.log.levels.INFO)
    end
    local items = vim.tbl_map(function(grant)
      return { label = grant_line(grant), grants = { grant } }
    end, result.grants)
    if #items > 1 then
      items[#items + 1] = { label = S.revoke_all, grants = result.grants }
    end
    vim.ui.select(items, {
      prompt = S.grants_prompt,
      kind = "codex-grant",
      format_item = function(item)
        return item.label
      end,
    }, function(item)
      if item then
        revoke(item.grants)
      end
    end)
  end)
end

-- Shows the decision log, the newest first. Reading it needs no running bridge.
function M.decisions()
  if config.framing() ~= "headers" then
    return fail(S.needs_bridge)
  end
  local command = { config.current.cmd[1], "decisions", "list", "--json", "--limit=500" }
  local ok, problem = pcall(vim.system, command, { text = true, timeout = 30000, env = config.current.env }, vim.schedule_wrap(function(out)
    local decoded, all = pcall(vim.json.decode, out.stdout or "", { luanil = { object = true, array = true } })
    if out.code ~= 0 or not decoded then
      return fail(M.failure(command, out))
    elseif #all == 0 then
      return vim.notify(S.no_decisions, vim.log.levels.INFO)
    end
    local lines, places, entries = {}, {}, {}
    for i = #all, 1, -1 do
      local d = all[i]
      entries[#entries + 1] = d
      lines[#lines + 1] = S.decision_line:format(visible(d.time):sub(1, 19):gsub("T", " "), d.verdict, d.rule ~= "" and visible(d.rule) or visible(d.method), visible(d.reason))
      places[#lines] = d.origin
    end
    show_lines("codex://decisions", lines, places, S.decision_keys:format(config.current.keys.open_policy or ":CodexOpenPolicy"), function(number)
      local rows = {}
      for _, name in ipairs({ "seq", "time", "verdict", "method", "rule", "origin", "reason", "fields", "client", "thread", "turn", "mode" }) do
        local text = entries[number][name]
        rows[#rows + 1] = { name, visible(type(text) == "table" and table.concat(text, ", ") or text or "") }
      end
      M.show("codex://decision", rows, entries[number].origin)
    end)
  end))
  if not ok then
    fail(tostring(problem))
  end
end

return M
