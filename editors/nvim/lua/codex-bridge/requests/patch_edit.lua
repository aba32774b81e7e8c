-- The edit of a patch before it is accepted. The editor writes the user's version of the files, and declines Codex's.
local diff = require("codex-bridge.diff")
local file = require("codex-bridge.checkpoint.file")
local git = require("codex-bridge.checkpoint.git")
local merge = require("codex-bridge.checkpoint.merge")
local S = require("codex-bridge.strings")
local ui = require("codex-bridge.ui")

local M = {}

local Edit = {}
Edit.__index = Edit

-- Returns the folder of the request's thread, as it was opened.
local function folder_of(p)
  local session = require("codex-bridge.session")
  local conversation = session.of_thread(p.threadId) or session.current()
  return conversation.thread and conversation.thread.cwd or session.folder()
end

-- Returns the path of a change below the folder; nil if it is not there.
local function path_in(folder, change)
  for _, root in ipairs({ vim.uv.fs_realpath(folder), folder }) do
    local path = git.is_below(change.path, root) and change.path:sub(#root + 2)
    if path and file.is_valid(path) then
      return path
    end
  end
end

-- Returns why the user can't edit a patch; nil if they can. A patch can be edited if it adds and updates files of the
-- folder, in the sandbox. leaves: the patch leaves the sandbox.
function M.why_not(p, changes, leaves)
  if leaves then
    return S.why_not_edit.leaves
  end
  local folder, seen = folder_of(p), {}
  for _, change in ipairs(changes) do
    local kind, path = change.kind, path_in(folder, change)
    if not (kind.type == "add" or kind.type == "update" and not kind.move_path) then
      return S.why_not_edit.text
    elseif not path or seen[path] then
      return S.why_not_edit.outside
    end
    seen[path] = true
  end
end

-- Returns Codex's version of a file, or nil if its patch does not fit.
local function proposal_of(change, text)
  if change.kind.type == "add" then
    return change.diff
  end
  local function lines(part)
    return vim.split((part:gsub("\n$", "")), "\n", { plain = true })
  end
  local after = diff.apply(text == "" and {} or lines(text), lines(change.diff))
  return after and (#after == 0 and "" or table.concat(after, "\n") .. "\n") -- Codex ends each file with a newline
end

-- Returns the edit of a patch, or nil and the reason why a buffer can't have its texts.
function M.new(p, changes)
  local folder = folder_of(p)
  local self = setmetatable({ root = vim.uv.fs_realpath(folder), params = p, files = {} }, Edit)
  for i, change in ipairs(changes) do
    local path = path_in(folder, change)
    local seen, name = file.state(self.root, path), ui.short_path(change.path)
    if seen.is_modified then
      return nil, S.edit_unsaved:format(name)
    elseif seen.kind ~= "file" and seen.kind ~= "absent" or merge.is_binary(seen.data or "") or merge.is_binary(change.diff) then
      return nil, S.edit_not_text:format(name)
    end
    local proposal = proposal_of(change, seen.data or "")
    if not proposal then
      return nil, S.edit_does_not_fit:format(name)
    end
    self.files[i] = { path = path, name = name, seen = seen, proposal = proposal, text = proposal }
  end
  return self
end

-- Returns the lines of both sides of a file.
function Edit:sides(i)
  local f = self.files[i]
  local function lines(text)
    return text == "" and {} or vim.split((text:gsub("\n$", "")), "\n", { plain = true })
  end
  return lines(f.seen.data or ""), lines(f.text)
end

-- Keeps the lines of the user.
function Edit:set(i, lines)
  local f = self.files[i]
  local last = (f.proposal == "" or vim.endswith(f.proposal, "\n")) and "\n" or ""
  f.text = #lines == 1 and lines[1] == "" and "" or table.concat(lines, "\n") .. last
end

function Edit:is_changed()
  return vim.iter(self.files):any(function(f)
    return f.text ~= f.proposal
  end)
end

local function target(f)
  return { kind = "file", data = f.text, executable = f.seen.executable or false }
end

-- Takes back the writes of the first files. One that changed again since stays.
function Edit:take_back(count)
  for i = count, 1, -1 do
    local f = self.files[i]
    pcall(file.write, self.root, f.path, target(f), f.seen, self.keeps)
  end
end

-- Writes all files or none. Returns the reason why it does not.
function Edit:write()
  self.keeps = {} -- folders that stay
  for _, f in ipairs(self.files) do
    local now = file.state(self.root, f.path)
    if now.is_modified or not merge.is_same(now, f.seen) then
      return S.edit_changed:format(f.name)
    end
    for folder in vim.fs.parents(f.path) do
      self.keeps[folder .. "/"] = vim.uv.fs_stat(self.root .. "/" .. folder) ~= nil
    end
  end
  for i, f in ipairs(self.files) do
    local ok, err = pcall(file.write, self.root, f.path, f.seen, target(f), self.keeps)
    if not ok then
      self:take_back(i - 1)
      return S.edit_not_written:format(f.name, type(err) == "table" and err.text or tostring(err))
    end
  end
end

-- Returns the text for the model: what the user changed in its version.
function Edit:message()
  local lines = {}
  for _, f in ipairs(self.files) do
    local hunks = vim.diff(f.proposal, f.text, { ctxlen = 3 })
    if hunks ~= "" then
      vim.list_extend(lines, { "--- a/" .. f.path, "+++ b/" .. f.path })
      vim.list_extend(lines, vim.split((hunks:gsub("\n$", "")), "\n", { plain = true }))
    end
  end
  local fence = "```"
  for ticks in table.concat(lines, "\n"):gmatch("`+") do
    fence = #ticks >= #fence and ticks .. "`" or fence
  end
  return S.edit_to_model:format(table.concat(vim.list_extend({ fence .. "diff" }, vim.list_extend(lines, { fence })), "\n"))
end

-- Writes the user's version and tells the model; callback(err, decision) then has the answer to the request: the model's
-- next request has both. Measured with Codex 0.169: turn/steer succeeds while the approval is open, and its text follows
-- the tool's output. With an error the files are as before. Without an edit it is a plain accept.
function Edit:accept(request, callback)
  if not self:is_changed() then
    return callback(nil, "accept")
  end
  local reason = self:write()
  if reason then
    return callback(reason)
  end
  local p = self.params
  local input = { { type = "text", text = self:message(), text_elements = {} } }
  require("codex-bridge.session").request("turn/steer", { threadId = p.threadId, expectedTurnId = p.turnId, input = input }, function(err)
    if err then
      self:take_back(#self.files)
      return callback(S.edit_not_accepted:format(err.message))
    end
    callback(request.resolved and S.edit_answered_meanwhile or nil, "decline")
  end)
end

-- Keeps the user's texts in buffers, after their request has ended.
function Edit:keep()
  local names = {}
  for _, f in ipairs(self.files) do
    if f.text ~= f.proposal then
      local buf = vim.api.nvim_create_buf(true, true)
      names[#names + 1] = ("codex://edited/%d/%s"):format(buf, f.path)
      vim.api.nvim_buf_set_name(buf, names[#names])
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split((f.text:gsub("\n$", "")), "\n", { plain = true }))
      vim.bo[buf].filetype = vim.filetype.match({ filename = f.path, buf = buf }) or ""
    end
  end
  if #names > 0 then
    vim.notify(S.edit_kept:format(table.concat(names, ", ")), vim.log.levels.WARN)
  end
end

return M
