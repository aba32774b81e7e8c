-- Restores the files to before a turn, or undoes the last restore. A preview comes first.
local changes = require("codex-bridge.changes")
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local function value(text)
  return require("codex-bridge.display").value(text)
end

local function warn(text)
  vim.notify(text, vim.log.levels.WARN)
end

local function plan_line(plan)
  local text = S.verdicts[plan.verdict]
  if not plan.reason and plan.seen.is_modified then
    text = text .. S.in_buffer
  end
  return ("%s  %s%s"):format(value(plan.path), text, plan.reason and ": " .. plan.reason or "")
end

local function report(plans)
  local counts, problems = { restored = 0, merged = 0, same = 0, conflict = 0, refused = 0 }, {}
  for _, plan in ipairs(plans) do
    counts[plan.verdict] = counts[plan.verdict] + 1
    if plan.reason then
      problems[#problems + 1] = plan_line(plan)
    end
  end
  local text = S.restored:format(counts.restored + counts.merged, counts.conflict + counts.refused)
  vim.notify(table.concat(vim.list_extend({ text }, problems), "\n"), #problems > 0 and vim.log.levels.WARN or vim.log.levels.INFO)
end

-- Shows plans. The accept key writes them, unless a turn changed files since.
local function preview(title, store, plans, uncovered, undone)
  local buf = ui.scratch_buffer(vim.fn.bufnr("codex://restore") > 0 and vim.fn.bufnr("codex://restore") or nil, "codex://restore")
  local lines = { title, "" }
  for _, plan in ipairs(plans) do
    lines[#lines + 1] = plan_line(plan)
  end
  for _, path in ipairs(uncovered) do
    lines[#lines + 1] = S.not_covered:format(value(path))
  end
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable, vim.bo[buf].filetype, vim.bo[buf].bufhidden = false, "codex-restore", "wipe"
  local window, keys = ui.split_below(buf), config.current.keys
  vim.wo[window][0].winbar = ui.escape(S.restore_keys:format(keys.accept or "<CR>", keys.diff or "-"))
  local function close()
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
  end
  local function map(key, action)
    if key then
      vim.keymap.set("n", key, action, { buffer = buf, nowait = true })
    end
  end
  map(keys.accept or "<CR>", function()
    close()
    changes.apply(store, plans, undone, function(err)
      if err then
        return warn(S.not_restored:format(err))
      end
      report(plans)
    end)
  end)
  map(keys.diff, function()
    local plan = plans[vim.api.nvim_win_get_cursor(window)[1] - 2]
    if plan then
      require("codex-bridge.changes.diff").compare(store.root, plan.path, plan.result or plan.target, plan.seen)
    end
  end)
  map("q", close)
end

-- options: undone, the record that the plans undo; finished, the one that they complete; thread, the restored one.
local function plan_and_preview(title, store, records, options)
  changes.plan(store, records, function(err, plans, uncovered)
    if err then
      warn(S.not_restored:format(err))
    elseif #plans == 0 then
      vim.notify(S.nothing_to_restore)
    else
      plans.thread, plans.finished = options.thread, options.finished
      preview(title, store, plans, uncovered, options.undone)
    end
  end, options.finished ~= nil)
end

local function date(record)
  return os.date("%Y-%m-%d %H:%M:%S", math.floor(record.time / 1000))
end

local function label(point)
  return date(point) .. "  " .. require("codex-bridge.display").line(point.text or "") .. (point.unfinished and "  " .. S.unfinished or "")
end

-- Lets the user choose a turn of the current thread, and shows the preview.
function M.restore()
  local thread, busy = require("codex-bridge.session").about().thread, changes.is_busy()
  if not thread or busy then
    return warn(busy or S.no_thread)
  end
  changes.restore_points(thread, function(err, list, store)
    if err then
      return warn(S.not_restored:format(err))
    elseif #list == 0 then
      return vim.notify(S.no_restore_points)
    end
    local numbers = {}
    for i = #list, 1, -1 do
      numbers[#numbers + 1] = i
    end
    vim.ui.select(numbers, {
      prompt = S.restore_prompt,
      kind = "codex-restore",
      format_item = function(i)
        return label(list[i])
      end,
    }, function(i)
      if i then
        plan_and_preview(S.restore_title:format(label(list[i])), store, vim.list_slice(list, i), { thread = thread.id })
      end
    end)
  end)
end

-- Lets the user finish an undo or restore that a killed editor has left, take it back, or leave the files as they are.
local function settle(store, record)
  local choices = { S.finish_restore, S.take_back, S.leave_files }
  vim.ui.select(choices, { prompt = S.interrupted_prompt:format(date(record)), kind = "codex-restore" }, function(choice)
    if choice == S.finish_restore then
      plan_and_preview(S.finish_title:format(date(record)), store, { record }, { finished = record })
    elseif choice == S.take_back then
      plan_and_preview(S.unrestore_title:format(date(record)), store, { record }, { undone = record })
    elseif choice == S.leave_files then
      changes.settle(store, record, function(err)
        vim.notify(err and S.not_restored:format(err) or S.left_files)
      end)
    end
  end)
end

-- Shows the preview that undoes the last undo or restore.
function M.unrestore()
  local thread, busy = require("codex-bridge.session").about().thread, changes.is_busy()
  if busy then
    return warn(busy)
  end
  changes.last_undo(thread and thread.cwd, function(err, record, store)
    if err then
      return warn(S.not_restored:format(err))
    elseif not record then
      return vim.notify(S.nothing_to_unrestore)
    end
    if record.is_interrupted then
      return settle(store, record)
    end
    plan_and_preview(S.unrestore_title:format(date(record)), store, { record }, { undone = record })
  end)
end

return M
