-- All texts that a user reads, each once. A text with %s is a format. The VS Code extension has the same words in
-- src/core/strings.
local M = {}

-- The titles, rows and actions of the cards.
M.refused = "Refused by the policy"
M.changed = "Changed by the policy"
M.leaves_sandbox = "Leaves the sandbox"
M.expired = "No answer in time: declined"
M.waits_elsewhere = "Waits for an answer in %s, which began the turn"
M.what = "What"
M.why = "Why"
M.rule = "Rule"
M.where = "Where"
M.hint = "Fix"
M.open_policy = "Open policy"
M.explain = "Explain"
M.and_more = "… and %d more: Explain shows all"
M.default_place = "default (no file sets it)"
M.default_enabled = "default; the policy is enabled in %s"
M.removed = "%s: %s removed"
M.replaced = "%s: %s → %s"
M.absent = "not set"
M.remembered = "Accepted without a question: %s"

-- The dry run.
M.try = "Try a command against the policy"
M.try_prompt = "Command: "
M.would = {
  deny = "The policy would refuse this command",
  ask = "You would be asked about this command",
  allow = "This command would run without a question",
}
M.no_explain = "This codex-bridge can't try a command; update it."

-- Approvals.
M.asks_command = "Codex asks to run a command"
M.asks_network = "Codex asks to use the network"
M.asks_patch = "Codex asks to change files"
M.asks_server = "%s asks"
M.server_asks = "The MCP server %s asks"
M.asks_tool = "Codex asks to call a tool of %s"
M.asker_unknown = "Without a policy, nothing shows whether Codex or the server asks this."
M.folder = "Folder"
M.reason = "Reason"
M.stated = "stated, not checked:"
M.quote = "▏ "
M.files = "Files"
M.edit, M.note = "Edit", "Note"
M.why_not_edit = {
  leaves = "not possible, because the patch leaves the sandbox",
  text = "not possible, because the patch deletes or moves a file",
  outside = "not possible, because the patch changes files outside the folder of the thread",
}
M.leaves = "Leaves"
M.grants_more = "Also"
M.runs_outside = "Codex runs an accepted command outside its sandbox."
M.reach_network = "Reach the network"
M.beyond_sandbox = "Beyond the sandbox: %s"
M.network_host = "Network: %s%s"
M.by_protocol = " by %s"
M.proposed_rule = "Proposed rule (Accept does not add it): %s"
M.other_fields = "Other fields: %s"
M.write_below = "Codex may write below %s for the session"
M.use_network = "use the network"
M.files_that_match = " all files that match %s"
M.always_host = "always %s the host %s"
M.always_command = "always allow commands that start with %s"
M.nothing_more = "nothing more"
M.tool = "Tool"
M.url = "URL"

M.accept = "Accept once"
M.accept_codex_session = "Accept, and do not ask again in this session"
M.accept_session = "Accept for this session, %s"
M.accept_always = "Accept always for exactly this, %s"
M.accept_and = "Accept, and %s"
M.decline_and = "Decline, and %s"
M.decline = "Decline"
M.cancel = "Decline, and stop the turn"
M.grant_turn = "Grant for this turn"
M.grant_session = "Grant for this session"
M.open_url = "Open the URL"
M.show_diff = "Show the diff"
M.edit_patch, M.edit_again = "Edit, then accept", "Show the edit"
M.accept_edited, M.discard_edits = "Accept edited", "Discard the edits"
M.more_choices = "All choices"
M.declined_in = "declined in %s"
M.key_line = "%s  %s"
M.key_places = ":CodexApprovals comes here. Keys: here, in the chat and in the prompt." -- a line breaks after a colon
M.more_lines = "… %d more lines"
M.asks_you = "%s: %s — :CodexApprovals"
M.waits_for_answer = "Codex waits for an answer: :CodexApprovals"
M.no_pending_request = "Codex has no pending request."
M.not_shown = "Nothing was accepted: the request was not on the screen. It is now."
M.no_such_choice = "This request offers no such answer."
M.patch_without_content = "Codex sent no content for a patch; it is declined."
M.unsupported_request = "Neovim does not support %s"

-- The descriptions of the commands.
M.commands = {
  Codex = "Open or close the chat, send a text, run a /command, or attach a range",
  CodexSend = "Send a text, a range or the prompt; steers a running turn",
  CodexStop = "Interrupt the turn",
  CodexNew = "Start a new thread",
  CodexResume = "Resume a thread",
  CodexThreads = "Threads: search, resume, rename, fork, archive",
  CodexChat = "Open another chat",
  CodexChats = "Switch to a chat",
  CodexDiagnostics = "Attach the problems of the file or a range to the next message",
  CodexApprovals = "Move to the pending approval or question",
  CodexAccept = "Accept the request on the screen once",
  CodexDecline = "Decline the request on the screen",
  CodexStatus = "Show status",
  CodexGrants = "Grants: list and revoke remembered approvals",
  CodexDecisions = "Decisions: browse the log of the policy",
  CodexTry = "Try a command against the policy",
  CodexOpenPolicy = "Open the policy of the card under the cursor",
  CodexExplain = "Explain the card under the cursor",
  CodexTrace = "Open the trace of this thread",
  CodexImage = "Attach an image to the next message",
  CodexChanges = "Changes of the last turn: keep or undo them",
  CodexRestore = "Restore the files to before a turn",
  CodexUnrestore = "Undo the last undo or restore of files",
}

-- The commands of the prompt.
M.slash = {
  new = "Start a new thread in this chat",
  review = "Review the changes of the working tree, or what you describe",
  compact = "Summarize the conversation to free context",
  model = "Choose the model and its effort",
  effort = "Choose the effort",
  permissions = "Choose the approval policy and the sandbox",
  approval = "Choose the approval policy",
  sandbox = "Choose the sandbox",
  status = "Show the gate, the policy and Codex",
  diff = "Show the changes of the working tree",
  threads = "Search, resume, rename, fork and archive threads",
  rename = "Rename the thread",
  fork = "Continue a copy of the thread in another chat",
  archive = "Archive the thread",
  chats = "Switch to a chat",
  chat = "Open another chat",
  image = "Attach an image",
  stop = "Interrupt the turn",
}
M.unknown_slash = "There is no command /%s."
M.send_as_text = "Send as text"
M.back_to_prompt = "Back to the prompt"
M.turn_is_running = "a turn is running; wait for its end or stop it"
M.not_started = "not started: %s"
M.choose_review = "Review"
M.review_changes = "Changes of the working tree"
M.review_branch = "Changes against a branch…"
M.review_commit = "A commit…"
M.review_custom = "By your instructions…"
M.ask_branch, M.ask_commit, M.ask_review = "Branch: ", "Commit: ", "Instructions: "
M.untracked = "New file: %s"
M.no_changes = "The working tree has no changes."

-- Settings of the thread.
M.model, M.effort, M.approval, M.sandbox, M.permissions = "Model", "Effort", "Approval policy", "Sandbox", "Permissions"
M.approvals = {
  untrusted = "Codex asks before each command and patch.",
  ["on-request"] = "Codex asks before it leaves the sandbox.",
  never = "Codex never asks; actions outside the sandbox fail.",
}
M.granular = "Questions of the granular policy"
M.granular_asks = "Codex asks about %s."
M.granular_refuses = "It refuses without a question: %s."
M.kinds = {
  sandbox_approval = "commands outside the sandbox",
  rules = "commands that a rule of Codex names",
  skill_approval = "scripts of skills",
  request_permissions = "more permissions",
  mcp_elicitations = "questions of MCP servers",
}
M.kind_asked, M.kind_refused = "%s: Codex asks.", "%s: Refused without a question."
M.all_chosen = "Done"
M.sandboxes = {
  ["read-only"] = "Commands can read files.",
  ["workspace-write"] = "Commands can also write in the folder.",
  ["danger-full-access"] = "No sandbox.",
}
M.refused_choice = "✗ %s. Not allowed: %s%s"
M.is_refused = "The policy does not allow %s."
M.rule_place = " (%s, %s)"
M.current_choice = "%s (current)"
M.chosen = "%s: %s, from your next message"
M.no_such_value = "%s: there is no %s"
M.next_turn = "%s (next)"
M.default_value = "the default"
M.with_network, M.with_roots = "%s with network", "%s and %s"
M.setting_change = "%s %s → %s"
M.changed_elsewhere = "Another client changed the settings of this thread: %s"
M.read_only_folder = "The sandbox is read-only, because Codex does not trust this folder: each patch needs your answer. /sandbox workspace-write changes this for the thread."

-- Durations.
M.seconds = "%d seconds"
M.minutes = "%d minutes"
M.hours = "%d hours"
M.one_minute = "1 minute"
M.one_hour = "1 hour"

-- Questions and forms.
M.something_else = "Something else…"
M.yes = "Yes"
M.no = "No"
M.required = " (required)"
M.skip = "No value"
M.not_a_number = "%s: enter a number."
M.not_an_integer = "%s: enter a whole number."
M.too_small = "%s: enter at least %s."
M.too_large = "%s: enter at most %s."
M.too_short = "%s: enter at least %d characters."
M.too_long = "%s: enter at most %d characters."
M.not_in_format = { email = "%s: enter an e-mail address.", uri = "%s: enter a URL.", date = "%s: enter a date, 2026-03-01." }
M.is_required = "%s: a value is required."

-- The chat.
M.you, M.codex, M.plan, M.thinking, M.todo = "## You", "## Codex", "## Plan", "### Thinking", "### Plan"
M.review, M.review_begins = "## Review", "### Codex reviews"
M.search, M.view_image, M.patch = "### Search: %s", "### View image %s", "### Patch %s"
M.compacted = "### Codex compacted the conversation"
M.done, M.failed, M.declined, M.running, M.stopped_item = "done", "failed", "declined", "running", "stopped"
M.exit = "exit %d"
M.one_line, M.lines = "%d line", "%d lines"
M.output_truncated = "… output truncated (max_output)"
M.stopped = "stopped"
M.not_stopped = "not stopped: %s"
M.not_sent = "not sent: %s"
M.exited = "codex exited (status %d, signal %d); your next message restarts it"
M.process_exited = "codex exited (status %d, signal %d)"
M.no_editor_tools = "the editor tools are not available: %s"
M.left_thread = "you left the thread"
M.could_not_start = "could not start: %s"
M.not_executable = "%s is not executable; put it on PATH or set cmd in setup{}, see :checkhealth codex-bridge"
M.untitled = "New chat"
M.turn_ended = { completed = "%s: the turn has ended: %s", interrupted = "%s: the turn was stopped: %s", failed = "%s: the turn has failed: %s" }
M.no_reference = "There is no file or URL under the cursor."
M.follow = "Open the file or URL under the cursor"
M.ask_open = "Open %s?"
M.cancel_open = "Cancel"
M.not_json = "codex sent a line that is not JSON: %s"
M.error = "codex: %s"
M.program_failed, M.program_timed_out = "%s ended with exit status %d, signal %d, and no message", "%s did not end in time"

-- The prompt.
M.placeholder = "Ask Codex… %s sends"
M.one_image, M.images = "%d image", "%d images"
M.steers = "%s steers, %s stops"
M.sends = "%s sends, %s in insert mode"
M.no_key = "no key"
M.file_kind, M.folder_kind, M.command_kind = "file", "folder", "command"
M.removes_chip = "dd removes"
M.same_name = "%s%s (%d)"
M.selection = "%s, lines %d to %d"
M.one_problem, M.problems, M.problems_of = "%s, %d problem", "%s, %d problems", "Problems of %s:"
M.no_problems = "There are no problems here."
M.no_file_name = "unnamed file"
M.image = "image %s"
M.range = "%s, lines %d to %d:\n"

-- The diff.
M.diff_accept, M.diff_decline, M.diff_next, M.diff_later = "%s accept", "%s decline", "%s next file", ":q later"
M.new_file, M.deleted_file, M.after, M.now = "new file", "deleted", "after", "%s (now)"
M.rename_to = "rename to %s"

-- The edit of a patch before it is accepted.
M.edit_side, M.edit_accept, M.edit_keep = "edit", "%s accept edited", ":w keep"
M.edit_unsaved = "%s has unsaved changes. Save or revert them, then edit the patch."
M.edit_not_text = "%s can't be edited here: it is not a text."
M.edit_does_not_fit = "The patch does not fit %s as it is now."
M.edit_changed = "Nothing was written: %s changed since you started the edit. Your text is kept."
M.edit_not_written = "%s can't be written: %s. Your text is kept."
M.edit_not_accepted = "Your version is not accepted: %s. The files are as before, and your text is kept."
M.edit_answered_meanwhile = "The request was answered elsewhere while your version was written. Compare the files with your text."
M.edit_kept = "The request has ended. Your text is in %s."
M.edit_to_model = "I edited your patch before I accepted it. The files have the patch with my edits, so the tool reports a rejection. Do not apply the patch again. My edits of your version:\n\n%s"

-- Status.
M.to_answer = "codex: %d to answer"
M.state = "codex: %s"
M.name = "codex"
M.policy_mode = "policy %s%s"
M.thousand = "%dk"
M.tokens = "%s tokens"
M.context = "%d%% of context"
M.plan_state = "plan %d/%d"
M.chat_of = "chat %d of %d"
M.unknown_component = "codex-bridge: component(): unknown name %s; use one of %s"
M.gate = ", gate"
M.no_bridge = "no bridge"
M.needs_bridge = "This needs codex-bridge; cmd in setup{} runs Codex without it."
M.status_bridge = "Bridge"
M.status_codex = "Codex"
M.status_tested = "%s (tested)"
M.status_untested = "%s (tested: %s)"
M.status_unknown = "unknown"
M.status_policy = "Policy"
M.status_counts = "%s; %d messages changed, %d refused"
M.status_profile = "Profile"
M.status_no_profile = "none: each setting by itself"
M.status_limits = "Limits"
M.status_limits_text = "sandbox at most %s, approval %s, escalation %s"
M.status_approvals = "Approvals"
M.status_approvals_off = "no answer within %s declines; nothing is remembered"
M.status_approvals_kept = "no answer within %s declines; remembered: %s, %s"
M.status_hub = "Hub"
M.status_hub_off = "off: this Codex is yours alone"
M.status_hub_on = "on: %d clients share this Codex"
M.status_hooks = "Hooks"
M.status_active = "active"
M.status_inactive = "not active: %s"
M.status_thread = "Thread"
M.status_no_thread = "none yet"
M.status_files = "Files"
M.status_no_files = "none: without a configuration nothing is checked"
M.status_rules = "Rules"
M.status_grants = "Grants"
M.status_none = "none"
M.rule_line = "%-5s %s%s"
M.grant_line = "%s  %s  %s, until %s, by %s"
M.report_keys = "%s opens the file of a line, q closes"

-- Grants.
M.grants_prompt = "Grants: choose one to revoke"
M.no_grants = "There are no grants: no approval is remembered."
M.revoke_all = "Revoke all"
M.revoked = "Revoked: %s"
M.revoked_none = "Nothing was revoked: the grant is gone."

-- Decisions.
M.no_decisions = "There are no decisions yet."
M.decision_line = "%s  %-7s  %s  %s"
M.decision_keys = "<CR> shows a decision, %s opens its policy, q closes"

-- Policy places.
M.no_card = "There is no decision of the policy in this chat."
M.no_place = "No file sets this rule."
M.unreadable = "%s can't be read"

-- Threads, traces and images.
M.resume_thread = "Resume a thread"
M.no_threads = "There are no threads in this folder yet."
M.threads, M.archived_threads, M.active_threads, M.all_threads = "Threads", "Archived threads", "Threads that are not archived", "All threads"
M.threads_with = "%s with “%s”"
M.search_threads, M.ask_search = "Search…", "Search: "
M.resume, M.resume_in_chat, M.rename, M.fork = "Resume", "Resume in another chat", "Rename…", "Fork into another chat"
M.archive, M.unarchive = "Archive", "Unarchive"
M.ask_name = "Name: "
M.renamed, M.archived, M.unarchived = "Renamed: %s", "Archived: %s", "Unarchived: %s"
M.not_saved = "Codex has not saved this thread yet; send a message first."
M.no_thread = "There is no thread yet; send a message first."
M.no_clipboard_program = "no program can read images from the clipboard; install wl-clipboard, xclip or pngpaste, or name a file"
M.no_clipboard_image = "the clipboard has no image"
M.buffer_has_changes = "codex changed %s, but your buffer has changes: :w! keeps yours, :e! loads the file"

-- Chats.
M.chat, M.chats = "Chat", "Chats"
M.new_chat, M.close_chat = "New chat", "Close this chat"
M.working, M.pending = "working", "%d to answer"

-- Health.
M.health_neovim = "codex-bridge: Neovim"
M.health_program = "codex-bridge: the program"
M.health_conversation = "codex-bridge: the conversation"
M.health_version = "Neovim %s"
M.health_too_old = "Neovim 0.10 or later is required"
M.health_parser = "messages are rendered by treesitter"
M.health_no_parser = "messages have regex syntax: Neovim has no parser for markdown"
M.health_clipboard = "images from the clipboard: %s"
M.health_no_clipboard = "images from the clipboard: install wl-clipboard, xclip or pngpaste"
M.health_not_executable = "%s is not executable"
M.health_set_cmd = "put it on PATH, or set cmd in setup{}"
M.health_framing = "%s, framing: %s"
M.health_no_bridge = "%s without a bridge: no policy is enforced"
M.health_set_framing = 'if this is codex-bridge under another name, set framing = "headers"'
M.health_doctor = "the output of codex-bridge doctor is not JSON"
M.health_state = "state: %s"
M.health_thread = "thread %s"

-- The changes of a turn.
M.one_file_changed, M.files_changed = "### %d file changed", "### %d files changed"
M.until_now = "until now"
M.block_keys = "%s keep · %s undo · %s diff · zo hunks · :CodexChanges"
M.more_files = "… %d more files: :CodexChanges lists all"
M.no_restore_point = "No restore point: %s"
M.too_slow = "the snapshot took longer than %d s"
M.no_git = "there is no git program on PATH"
M.no_folder = "the folder does not exist"
M.home_folder = "snapshots of a home folder are too large"
M.git_failed = "git %s failed: %s"
M.while_running = "A turn is running: wait for its end, or stop it."
M.turn_runs = "The turn is running. These are its patches until now:"
M.none_to_undo = "There are no changes to keep or undo."
M.all_undone, M.all_kept, M.some_kept = "undone", "kept", "%d undone, %d kept, %d in part"
M.closed_folder, M.open_folder = "▸ %s  +%d -%d", "▾ %s  +%d -%d"
M.one_file, M.count_files = "%d file", "%d files"
M.this_folder = "this folder"
M.is_folder = "This line is a folder. %s opens and closes it."
M.no_change_here = "There is no change on this line."
M.not_covered = "Not covered: %s"
M.unfinished = "The editor closed during this turn. All changes until it opened again are in it, also yours."
M.you_saved = "you saved this file during the turn"
M.sizes = "%d bytes → %d bytes"
M.made_executable, M.made_not_executable = "made executable", "no longer executable"
M.change_keys = " %s keep · %s undo · %s diff · q close"
M.undone = "Undone: %s"
M.undone_merged = "Undone: %s; your later edits are kept."
M.undone_side = "after the undo"
M.not_undone = "%s is not undone: %s"
M.conflict = "your later edits touch the same lines"
M.inseparable = "you and Codex changed the same lines during the turn"
M.changed_meanwhile = "the file changed in the meantime"
M.open_twice = "the file has unsaved changes in several buffers"
M.not_exact = "the buffer can't be written with exactly these bytes"
M.not_in_root = "the path is not in the workspace"
M.no_parent = "its folder is missing, or is not a real folder of the workspace"
M.now_a = { folder = "the path is now a folder", special = "the path is now a special file, or can't be read" }
M.in_buffer = ", in the unsaved buffer"
M.verdicts = {
  restored = "restored", merged = "restored, your later edits are kept", conflict = "conflict: not restored",
  refused = "not restored", same = "already as before",
}
M.restore_prompt = "Restore to before this turn"
M.restore_title = "Restore to before the turn of %s"
M.unrestore_title = "Undo the restore of %s"
M.restore_keys = " %s restore · %s diff · q cancel"
M.restored = "Restored: %d; not restored: %d."
M.not_restored = "Nothing is restored: %s"
M.nothing_to_restore = "No file needs a restore."
M.no_restore_points = "This thread has no restore points."
M.interrupted = "Neovim was closed while it restored files. Restored: %s. Not restored, or edited since: %s. :CodexUnrestore finishes this or takes it back."
M.more_names, M.no_files = "%d more", "none"
M.interrupted_prompt = "The restore of %s is incomplete"
M.finish_restore, M.take_back, M.leave_files = "Finish it", "Take it back", "Leave the files as they are"
M.finish_title = "Finish the restore of %s"
M.left_files = "The files stay as they are."
M.nothing_to_unrestore = "There is no undo or restore to undo."

-- Settings.
M.unknown_setting = "codex-bridge: setup{}: unknown setting %s; use one of %s"
M.wrong_type = "codex-bridge: %s: expected %s, got %s"
M.not_one_of = 'codex-bridge: %s: expected one of "%s"'
M.empty_cmd = "codex-bridge: cmd is empty; name a program"

-- Returns a duration in words: "30 minutes".
function M.duration(ms)
  local seconds = math.floor(ms / 1000 + 0.5)
  if seconds < 60 then
    return M.seconds:format(seconds)
  elseif seconds < 3600 then
    local minutes = math.floor(seconds / 60 + 0.5)
    return minutes == 1 and M.one_minute or M.minutes:format(minutes)
  end
  local hours = math.floor(seconds / 3600 + 0.5)
  return hours == 1 and M.one_hour or M.hours:format(hours)
end

-- Returns a countdown: "1:59".
function M.countdown(ms)
  local seconds = math.max(0, math.ceil(ms / 1000))
  return ("%d:%02d"):format(math.floor(seconds / 60), seconds % 60)
end

return M
