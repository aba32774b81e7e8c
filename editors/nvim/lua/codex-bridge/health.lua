-- Runs `codex-bridge doctor`: for :checkhealth codex-bridge, and to explain why a bridge does not start.
local config = require("codex-bridge.config")
local S = require("codex-bridge.strings")

local M = {}

-- Starts a command. callback: see vim.system; without it, run waits and returns the result.
local function run(command, callback)
  local options = { text = true, timeout = 60000, env = config.current.env }
  local ok, process = pcall(vim.system, command, options, callback and vim.schedule_wrap(callback))
  if ok then
    return callback or process:wait()
  end
  local failed = { code = 127, stdout = "", stderr = tostring(process) }
  return callback and callback(failed) or failed
end

local function doctor_command()
  return { config.current.cmd[1], "doctor", "--json" }
end

-- Returns the rows that the doctor printed, or nil if its output is no JSON.
local function doctor_rows(out)
  local ok, rows = pcall(vim.json.decode, out.stdout or "")
  return ok and rows or nil
end

local function first_line(text)
  return (text or ""):match("[^\n]+") or ""
end

local function report_doctor()
  local out = run(doctor_command())
  local rows = doctor_rows(out)
  if not rows then
    return vim.health.error(S.health_doctor, { first_line(out.stderr) })
  end
  for _, row in ipairs(rows) do
    local report = ({ ok = vim.health.ok, warn = vim.health.warn })[row.state] or vim.health.error
    report(("%s: %s"):format(row.name, row.detail), row.hint and { row.hint } or nil)
  end
end

-- Adds the problems that the doctor finds to err; done(text). vim.lsp.rpc writes the bridge's stderr to a log
-- file only, so the plugin asks the doctor.
function M.explain(err, done)
  if config.framing() ~= "headers" or vim.fn.executable(config.current.cmd[1]) ~= 1 then
    return done(err)
  end
  run(doctor_command(), function(out)
    local lines = { err }
    for _, row in ipairs(doctor_rows(out) or {}) do
      if row.state == "broken" then
        lines[#lines + 1] = ("%s: %s%s"):format(row.name, row.detail, row.hint and "; " .. row.hint or "")
      end
    end
    done(table.concat(lines, "\n"))
  end)
end

function M.check()
  vim.health.start(S.health_neovim)
  if vim.fn.has("nvim-0.10") == 1 then
    vim.health.ok(S.health_version:format(tostring(vim.version())))
  else
    vim.health.error(S.health_too_old)
  end
  if require("codex-bridge.markdown").has_parser() then
    vim.health.ok(S.health_parser)
  else
    vim.health.info(S.health_no_parser)
  end
  local clipboard = require("codex-bridge.image").clipboard_command()
  if clipboard then
    vim.health.ok(S.health_clipboard:format(clipboard[1]))
  else
    vim.health.info(S.health_no_clipboard)
  end

  vim.health.start(S.health_program)
  local program = config.current.cmd[1]
  if vim.fn.executable(program) ~= 1 then
    vim.health.error(S.health_not_executable:format(program), { S.health_set_cmd })
    return
  end
  vim.health.ok(S.health_framing:format(vim.fn.exepath(program), config.framing()))
  if config.framing() == "headers" then
    vim.health.ok(first_line(run({ program, "version" }).stdout))
    report_doctor()
  else
    vim.health.warn(S.health_no_bridge:format(first_line(run({ program, "--version" }).stdout)), {
      S.health_set_framing,
    })
  end

  vim.health.start(S.health_conversation)
  local about = require("codex-bridge").about()
  vim.health.info(S.health_state:format(about.state))
  if about.thread then
    vim.health.info(S.health_thread:format(about.thread.id))
  end
  if about.state ~= "off" then
    vim.health.ok(require("codex-bridge.status").details())
  end
end

return M
