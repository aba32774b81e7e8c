-- Defines the commands, without setup{}. The first command loads the other modules.
if vim.g.loaded_codex_bridge then
  return
end
vim.g.loaded_codex_bridge = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.notify("codex-bridge: " .. require("codex-bridge.strings").health_too_old, vim.log.levels.ERROR)
  return
end

require("codex-bridge.commands").define()

local group = vim.api.nvim_create_augroup("codex-bridge", {})
require("codex-bridge.file_window").watch(group)
vim.api.nvim_create_autocmd("VimLeavePre", {
  group = group,
  callback = function()
    if package.loaded["codex-bridge.session"] then
      require("codex-bridge").close()
    end
  end,
})
