-- Work that is not a message: a review, the compaction of the conversation, and the changes of the working tree.
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local function fail(text)
  vim.notify(S.error:format(text), vim.log.levels.ERROR)
end

-- Starts work in the current thread with a request.
local function start(method, params)
  local conversation = require("codex-bridge.session").current()
  if conversation.turn then
    return fail(S.turn_is_running)
  end
  require("codex-bridge.view").show()
  conversation:ensure_thread(function(err)
    if err then
      return fail(err)
    end
    conversation:start_turn(method, params, function(failed)
      if failed then
        conversation.chat:notice(S.not_started:format(failed))
      end
    end)
  end)
end

local function review(target)
  start("review/start", { target = target })
end

local function ask(prompt, make)
  vim.ui.input({ prompt = prompt }, function(text)
    if text and vim.trim(text) ~= "" then
      review(make(vim.trim(text)))
    end
  end)
end

local targets = {
  { S.review_changes, function() review({ type = "uncommittedChanges" }) end },
  { S.review_branch, function() ask(S.ask_branch, function(text) return { type = "baseBranch", branch = text } end) end },
  { S.review_commit, function() ask(S.ask_commit, function(text) return { type = "commit", sha = text } end) end },
  { S.review_custom, function() ask(S.ask_review, function(text) return { type = "custom", instructions = text } end) end },
}

-- Starts a review by instructions; without them the user chooses a target.
function M.review(instructions)
  if instructions and instructions ~= "" then
    return review({ type = "custom", instructions = instructions })
  end
  vim.ui.select(targets, {
    prompt = S.choose_review,
    kind = "codex-review",
    format_item = function(target)
      return target[1]
    end,
  }, function(target)
    if target then
      target[2]()
    end
  end)
end

-- Makes Codex replace the conversation by a summary.
function M.compact()
  if not require("codex-bridge.session").current().thread then
    return vim.notify(S.no_thread, vim.log.levels.WARN)
  end
  start("thread/compact/start", {})
end

local git = { "git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-pager" }

-- Shows the changes of the working tree that are not committed, and names new files. No program of the repository's
-- attributes formats them.
function M.diff()
  local function run(arguments, callback)
    local command = vim.list_extend(vim.list_slice(git), arguments)
    local options = { text = true, timeout = 30000, cwd = require("codex-bridge.session").folder(), env = { GIT_OPTIONAL_LOCKS = "0" } }
    local ok, problem = pcall(vim.system, command, options, vim.schedule_wrap(function(out)
      if out.code ~= 0 then
        return fail(require("codex-bridge.report").failure(command, out))
      end
      callback(vim.split(out.stdout, "\n", { trimempty = true }))
    end))
    if not ok then
      fail(tostring(problem))
    end
  end
  run({ "diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD" }, function(lines)
    run({ "ls-files", "--others", "--exclude-standard" }, function(new)
      for _, name in ipairs(new) do
        lines[#lines + 1] = S.untracked:format(name)
      end
      if #lines == 0 then
        return vim.notify(S.no_changes, vim.log.levels.INFO)
      end
      ui.show_text("codex://diff", vim.tbl_map(require("codex-bridge.display").document, lines), "diff")
    end)
  end)
end

return M
