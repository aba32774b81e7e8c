-- The source "codex-bridge" of nvim-cmp: the completion of the prompt in its menu.
local complete = require("codex-bridge.complete")

local M = {}

local Source = {}
Source.__index = Source

local is_registered = false

-- Registers the source, if nvim-cmp is loaded.
function M.register()
  local cmp = package.loaded["cmp"]
  if cmp and not is_registered then
    is_registered = true
    cmp.register_source("codex-bridge", setmetatable({}, Source))
  end
end

function Source:is_available()
  return vim.api.nvim_buf_get_name(0) == "codex://prompt"
end

function Source:get_position_encoding_kind()
  return "utf-8"
end

function Source:get_trigger_characters()
  return { "@", "/" }
end

function Source:get_keyword_pattern()
  return [=[[@/]\S*]=]
end

function Source:complete(params, callback)
  local cursor = params.context.cursor
  complete.find(function(items, column, word, is_file)
    local kinds = vim.lsp.protocol.CompletionItemKind
    local function convert(item)
      local is_folder = is_file and item.word:find('/"?$')
      return {
        label = item.word,
        kind = is_folder and kinds.Folder or is_file and kinds.File or kinds.Function,
        labelDetails = { description = item.menu },
        filterText = is_file and word .. item.word or item.word, -- Codex has chosen the files
        textEdit = {
          newText = item.word,
          range = { start = { line = cursor.line, character = column }, ["end"] = { line = cursor.line, character = cursor.character } },
        },
      }
    end
    callback({ items = vim.tbl_map(convert, items), isIncomplete = word ~= nil })
  end)
end

return M
