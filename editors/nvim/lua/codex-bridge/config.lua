-- The settings: defaults, what setup{} changes of them, and what is wrong with it.
local M = {}

M.defaults = {
  -- The program and its arguments. { "codex", "app-server" } works too, without a policy.
  cmd = { "codex-bridge", "app-server" },
  -- "auto": headers (the framing of LSP) for a program with "bridge" in its name, lines for every other.
  framing = "auto",
  -- Added to the program's environment.
  env = {},
  -- Sent with thread/start: model, approvalPolicy, sandbox, … What is not said is Codex's own default.
  thread = {},
  -- A name for the conversation: with the bridge it goes on after a restart of Neovim. Empty: a new one each time.
  session = "",
  -- position: "right", "left", "top", "bottom" or "tab". A size below 1 is a share of the screen.
  window = { position = "right", width = 0.4, height = 0.4, prompt = 5 },
  -- How often, in milliseconds, the chat is written to while text streams in.
  flush_ms = 40,
  -- How much of a tool's output is shown, in bytes.
  max_output = 65536,
  -- Buffers without changes of their own are read again when Codex has written their file.
  reload = true,
  -- Tools of the editor that the model may call.
  tools = { diagnostics = true, buffers = true, symbols = true, selection = true },
  -- false leaves a key out.
  keys = { send = "<CR>", send_insert = "<C-s>", stop = "<C-c>", accept = "ga", decline = "gr", next_file = "]f", previous_file = "[f" },
}

M.current = vim.deepcopy(M.defaults)

-- Tables that take any key: they are passed on.
local open = { env = true, thread = true, cmd = true }

local function check(given, known, path)
  for key, value in pairs(given) do
    local name = path .. tostring(key)
    local default = known[key]
    if default == nil then
      local names = vim.tbl_keys(known)
      table.sort(names)
      error(("codex-bridge: setup{} has no setting %s; there are %s"):format(name, table.concat(names, ", ")), 0)
    end
    local switchable = path == "keys." and value == false
    if type(value) ~= type(default) and not switchable then
      error(("codex-bridge: %s is a %s, it has to be a %s"):format(name, type(value), type(default)), 0)
    end
    if type(value) == "table" and not open[key] then
      check(value, default, name .. ".")
    end
  end
end

local function one_of(name, value, allowed)
  if not vim.tbl_contains(allowed, value) then
    error(('codex-bridge: %s has to be one of "%s"'):format(name, table.concat(allowed, '", "')), 0)
  end
end

-- Takes what is given over the defaults, or raises an error and changes nothing.
function M.set(given)
  given = given or {}
  check(given, M.defaults, "")
  local merged = vim.tbl_deep_extend("force", vim.deepcopy(M.defaults), given)
  if given.cmd then
    merged.cmd = given.cmd -- a list is replaced, not merged
  end
  if #merged.cmd == 0 then
    error("codex-bridge: cmd is empty, it has to name a program", 0)
  end
  one_of("window.position", merged.window.position, { "right", "left", "top", "bottom", "tab" })
  one_of("framing", merged.framing, { "auto", "headers", "lines" })
  M.current = merged
end

-- "headers" or "lines".
function M.framing()
  local c = M.current
  if c.framing ~= "auto" then
    return c.framing
  end
  return vim.fs.basename(c.cmd[1]):find("bridge", 1, true) and "headers" or "lines"
end

return M
