-- A whole editor for Codex: it sends one text, prints what streams back and asks in the
-- terminal what Codex asks. It speaks the framing of language servers.
--
--     nvim -l editors/minimal/client.lua "what is in this folder?"
local text = table.concat(arg, " ")
local done, failed = false, nil
local rpc

local function finish(err)
  done, failed = true, err
end

-- Calls a method; what comes back is handed to callback.
local function call(method, params, callback)
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
      finish("codex-bridge has ended with status " .. code)
    end
  end),
})

call("initialize", { clientInfo = { name = "minimal", version = "1" } }, function()
  rpc.notify("initialized", vim.empty_dict())
  call("thread/start", vim.empty_dict(), function(started)
    call("turn/start", { threadId = started.thread.id, input = { { type = "text", text = text } } }, function() end)
  end)
end)

repeat
  vim.wait(1000, function() return done end)
until done
if failed then
  io.stderr:write("minimal: ", failed, "\n")
end
os.exit(failed and 1 or 0)
