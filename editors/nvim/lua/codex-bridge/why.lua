-- Why a bridge did not start: it has said so on stderr, which vim.lsp.rpc keeps in a log of
-- its own. The doctor finds the same.
local config = require("codex-bridge.config")

local M = {}

-- Lines of what is broken; done(lines).
function M.broken(done)
  vim.system({ config.current.cmd[1], "doctor", "--json" }, { text = true, timeout = 60000, env = config.current.env }, vim.schedule_wrap(function(out)
    local ok, rows = pcall(vim.json.decode, out.stdout or "")
    local lines = {}
    for _, row in ipairs(ok and rows or {}) do
      if row.state == "broken" then
        lines[#lines + 1] = ("%s: %s%s"):format(row.name, row.detail, row.mend and "; " .. row.mend or "")
      end
    end
    done(lines)
  end))
end

-- done(text): err, and the doctor's words where there is a bridge.
function M.explain(err, done)
  if config.framing() ~= "headers" or vim.fn.executable(config.current.cmd[1]) ~= 1 then
    return done(err)
  end
  M.broken(function(lines)
    table.insert(lines, 1, err)
    done(table.concat(lines, "\n"))
  end)
end

return M
