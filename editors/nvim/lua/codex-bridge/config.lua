-- The settings: their defaults, and the validation of setup{}.
local S = require("codex-bridge.strings")

local M = {}

M.defaults = {
  -- The program and its arguments. { "codex", "app-server" } runs without a bridge and without a policy.
  cmd = { "codex-bridge", "app-server" },
  -- "headers" is the LSP base protocol, "lines" is JSON Lines. "auto" is headers for a program with "bridge" in its name.
  framing = "auto",
  -- Environment variables for the program, beside Neovim's own.
  env = {},
  -- Parameters of thread/start: model, approvalPolicy, sandbox, …
  thread = {},
  -- The session key. With a bridge, the conversation with this key continues after a restart of Neovim. Empty: none.
  session = "",
  -- position: "right", "left", "top", "bottom" or "tab". A size below 1 is a fraction of the screen.
  window = { position = "right", width = 0.4, height = 0.4, prompt = 5 },
  -- The interval of updates of the chat, in milliseconds.
  flush_ms = 40,
  -- The maximum of a tool's output in the chat, in bytes.
  max_output = 65536,
  -- Whether unmodified buffers are reloaded after Codex changes their files.
  reload = true,
  -- Whether a menu of files or commands opens while you type in the prompt.
  complete = true,
  -- Whether a snapshot of the workspace is taken before and after each turn, for undo and restore.
  checkpoints = true,
  -- Editor tools that the model may call.
  tools = { diagnostics = true, buffers = true, symbols = true, selection = true },
  -- false: no key.
  keys = {
    send = "<CR>", send_insert = "<C-s>", stop = "<C-c>", image = "<M-v>", open = "<CR>",
    accept = "ga", accept_session = "gs", accept_always = "gA", decline = "gr", cancel = "gR", diff = "gd", edit = "ge",
    open_policy = "go", explain = "g?",
    next_file = "]f", previous_file = "[f",
  },
}

M.current = vim.deepcopy(M.defaults)

-- Tables with arbitrary keys, which the plugin passes on.
local unchecked = { env = true, thread = true, cmd = true }

-- Raises an error for an unknown setting or a value of another type than the default.
local function check(given, known, path)
  for key, value in pairs(given) do
    local name = path .. tostring(key)
    local default = known[key]
    if default == nil then
      local names = vim.tbl_keys(known)
      table.sort(names)
      error(S.unknown_setting:format(name, table.concat(names, ", ")), 0)
    end
    local is_disabled_key = path == "keys." and value == false
    if type(value) ~= type(default) and not is_disabled_key then
      error(S.wrong_type:format(name, type(default), type(value)), 0)
    end
    if type(value) == "table" and not unchecked[key] then
      check(value, default, name .. ".")
    end
  end
end

local function check_one_of(name, value, allowed)
  if not vim.tbl_contains(allowed, value) then
    error(S.not_one_of:format(name, table.concat(allowed, '", "')), 0)
  end
end

-- Merges the settings with the defaults. On an error it changes nothing.
function M.set(given)
  given = given or {}
  check(given, M.defaults, "")
  local merged = vim.tbl_deep_extend("force", vim.deepcopy(M.defaults), given)
  if given.cmd then
    merged.cmd = given.cmd -- a list is replaced, not merged
  end
  if #merged.cmd == 0 then
    error(S.empty_cmd, 0)
  end
  check_one_of("window.position", merged.window.position, { "right", "left", "top", "bottom", "tab" })
  check_one_of("framing", merged.framing, { "auto", "headers", "lines" })
  M.current = merged
end

-- Returns "headers" or "lines".
function M.framing()
  local c = M.current
  if c.framing ~= "auto" then
    return c.framing
  end
  return vim.fs.basename(c.cmd[1]):find("bridge", 1, true) and "headers" or "lines"
end

return M
