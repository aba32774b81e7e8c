-- A complete client of Codex. It sends one message, prints the reply as it streams, and asks for
-- approvals in the terminal. It speaks the LSP base protocol.
--
--     nvim -l editors/minimal/client.lua "what is in this folder?"
local text = table.concat(arg, " ")
local done, failed = false, nil
local rpc

local function finish(err)
  done, failed = true, err
end

-- Sends a request; callback(result). An error ends the program.
local function request(method, params, callback)
  rpc.request(method, params, function(err, result)
    if err then
      return finish(err.message)
    end
    callback(result)
  end)
end

rpc = vim.lsp.rpc.start({ "codex-bridge", "app-server" }, {
  notification = function(method, params)
    if method == "item/agentMessage/delta" then
      io.write(params.delta)
    elseif method == "turn/completed" then
      io.write("\n")
      finish()
    end
  end,
  server_request = function(method, params)
    if not method:find("/requestApproval$") then
      return nil, { code = -32601, message = "unknown" }
    end
    io.stderr:write(("%s %s\naccept? [y/N] "):format(method, params.command or ""))
    return { decision = io.read("l") == "y" and "accept" or "decline" }
  end,
  on_exit = vim.schedule_wrap(function(code)
    if not done then
      finish("codex-bridge exited with status " .. code)
    end
  end),
})

request("initialize", { clientInfo = { name = "minimal", version = "1" } }, function()
  rpc.notify("initialized", vim.empty_dict())
  request("thread/start", vim.empty_dict(), function(started)
    request("turn/start", { threadId = started.thread.id, input = { { type = "text", text = text } } }, function() end)
  end)
end)

repeat
  vim.wait(1000, function() return done end)
until done
if failed then
  io.stderr:write("minimal: ", failed, "\n")
end
os.exit(failed and 1 or 0)
