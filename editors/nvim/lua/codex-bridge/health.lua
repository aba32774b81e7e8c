-- :checkhealth codex-bridge
local config = require("codex-bridge.config")

local M = {}

local function run(command)
  local ok, process = pcall(vim.system, command, { text = true, timeout = 60000, env = config.current.env })
  if not ok then
    return { code = 127, stdout = "", stderr = tostring(process) }
  end
  return process:wait()
end

local function first_line(text)
  return (text or ""):match("[^\n]+") or ""
end

local function doctor(program)
  local out = run({ program, "doctor", "--json" })
  local ok, rows = pcall(vim.json.decode, out.stdout)
  if not ok then
    return vim.health.error("codex-bridge doctor says nothing that can be read", { first_line(out.stderr) })
  end
  for _, row in ipairs(rows) do
    local report = ({ ok = vim.health.ok, warn = vim.health.warn })[row.state] or vim.health.error
    report(("%s: %s"):format(row.name, row.detail), row.mend and { row.mend } or nil)
  end
end

function M.check()
  vim.health.start("codex-bridge: Neovim")
  if vim.fn.has("nvim-0.10") == 1 then
    vim.health.ok("Neovim " .. tostring(vim.version()))
  else
    vim.health.error("Neovim 0.10 or later is needed")
  end
  local picture = require("codex-bridge.image").program()
  if picture then
    vim.health.ok("pictures from the clipboard: " .. picture[1])
  else
    vim.health.info("no pictures from the clipboard: that takes wl-clipboard, xclip or pngpaste")
  end

  vim.health.start("codex-bridge: the program")
  local program = config.current.cmd[1]
  if vim.fn.executable(program) ~= 1 then
    vim.health.error(program .. " is not executable", { "put it on PATH, or name it in setup{ cmd = { … } }" })
    return
  end
  vim.health.ok(("%s, spoken with in %s"):format(vim.fn.exepath(program), config.framing()))
  if config.framing() == "headers" then
    vim.health.ok(first_line(run({ program, "version" }).stdout))
    doctor(program)
  else
    vim.health.warn(first_line(run({ program, "--version" }).stdout) .. " without a bridge: no policy is in force", {
      'if this is a codex-bridge under another name, set framing = "headers"',
    })
  end

  vim.health.start("codex-bridge: the conversation")
  local about = require("codex-bridge").about()
  vim.health.info("state: " .. about.state)
  if about.thread then
    vim.health.info("thread " .. about.thread.id)
  end
  if about.state ~= "off" then
    vim.health.ok(require("codex-bridge.status").details())
  end
end

return M
