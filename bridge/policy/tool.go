package policy

import (
	"strings"

	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// ToolCall is a tool call before it runs, as Codex describes it to a hook. Hooks get every call,
// also those without a question.
type ToolCall struct {
	ID    string    // of the call
	Name  string    // Bash, apply_patch, mcp__SERVER__TOOL, or a dynamic tool
	Input rpc.Value // {"command": …} for Bash and apply_patch
	Cwd   string
	Model string // the calling model; "" if unknown
	// Shell is the shell of a command, "bash", "zsh" or "sh"; "" if unknown. Flags are its flags.
	// Both come from the model's call, because the hook does not get them.
	Shell, Flags string
}

// Summary returns the call as a person reads it: the command, the changed files, or the tool with its
// input.
func (t ToolCall) Summary() string {
	text, ok := t.Input.Get("command").Text()
	switch {
	case t.Name == "Bash" && ok:
		return text
	case t.Name == "apply_patch" && ok:
		return "apply_patch " + strings.Join(rules.PatchedFiles(text), ", ")
	}
	return t.Name + " " + string(t.Input.Raw())
}

// DecideTool applies the rules and policy.escalation to a tool call. The verdict is Deny, or Pass
// with or without Decision.Ask. A call that a rule wants to ask about is denied if no person can be
// asked.
//
// Measured with Codex 0.169: a hook does not get whether the command will leave the sandbox. Codex
// asks about a call that does, and DecideRequest then applies the rules with escalated. Here the
// thread's sandbox counts.
func (p *Policy) DecideTool(t ToolCall, st State) Decision {
	d, _ := p.decideTool(t, st)
	return d
}

// decideTool is DecideTool. It also returns the rule that matches.
func (p *Policy) decideTool(t ToolCall, st State) (d Decision, m rules.Match) {
	const method = "hook/preToolUse"
	asks := p.canAsk(t, st.Thread)
	if st.Lines == nil {
		st.Lines = new(rules.LineCache)
	}
	if t.AppliesPatch() {
		st.EscalationRequested = false // Codex applies a patch inside the roots without a question, whatever the call requests
	}
	if p.HasRules() {
		m = p.matchTool(t, st)
		switch {
		case m.Decision == rules.Deny:
			d = p.ruleRefusal(method, m)
		case m.Decision == rules.Ask && !asks:
			m.Why = strings.TrimPrefix(m.Why+"; the rule wants a question, and this thread has none; use policy.gate and another approvalPolicy than never", "; ")
			d = p.ruleRefusal(method, m)
		}
	}
	if err := p.checkCallerModel(t); d.Err == nil && err != nil {
		d = Decision{Verdict: Deny, Err: err}
	}
	if d.Err == nil && st.isUnverified() {
		d = p.refuseUnverified(method)
	}
	if d.Err == nil && p.Missing() != "" {
		d = p.refuseMissing(method)
	}
	if where := st.RedirectedFolder(); d.Err == nil && where != "" && (t.Name == "Bash" || t.Name == "apply_patch") {
		d = p.refuseEscalation(method, leaveReason{rule: ruleRoots, reason: where + " now leads elsewhere by a link, and commands could write there; replace the link by the folder itself, or start another thread"})
	}
	if err := p.checkSubagent(t, st); d.Err == nil && err != nil {
		d = Decision{Verdict: Deny, Err: err}
	}
	if d.Err == nil {
		line := p.LineLeaveReason(t, st)
		at := p.toolLeaveReason(t, st, line)
		if !at.leaves() {
			m = p.withoutConsent(t, m)
			d = p.decideAsk(t, st, m, line)
			d.Unasked = p.unaskedReason(d, st.Thread)
			d.Verdict, d.AnswerTerms, d.AllowedByRule, d.Asked = Pass, answerTerms(m, st), m.Decision == rules.Allow, m.Asked
			if d = p.RefuseQuestion(d, t); d.Err != nil {
				return d, m
			}
			p.addApprovers(&d, t, st, m)
			if !st.EscalationRequested { // or Codex asks, and the rules decide again
				d.Exceptions = m.Exceptions
			}
			return d, m
		}
		d = p.refuseLeaving(method, at, st)
	}
	d.Answer = nil
	return d, m
}

// toolLeaveReason returns why a call must be denied because it leaves the sandbox. The policy may
// forbid that; a denial here avoids a question and gives the model the reason, which it does not
// get after a declined question. Or Codex would not ask. line is the result of LineLeaveReason.
func (p *Policy) toolLeaveReason(t ToolCall, st State, line leaveReason) leaveReason {
	text, _ := t.Input.Get("command").Text()
	asks := p.asksEscalation && !st.Thread.refusesToLeave()
	if line.leaves() && (!asks || !p.canAsk(t, st.Thread)) {
		return line
	}
	switch {
	case t.Name == "apply_patch":
	case t.Name != "Bash" || asks:
		return leaveReason{}
	case st.Escalation == rules.Escalated:
		return callLeaveReason(st)
	case !rules.AppliesPatch(text):
		return leaveReason{}
	}
	st.Files = t.ChangedFiles()
	at := p.patchLeaveReason("item/fileChange/requestApproval", rpc.Value{}, st)
	if !asks || at.leaves() && !p.canAsk(t, st.Thread) && p.isUnasked(st) {
		return at
	}
	return leaveReason{}
}

// ChangedFiles returns the absolute names of the files that a call changes by a patch. Those of a shell
// command are in any folder that Codex could read from it.
func (t ToolCall) ChangedFiles() []string {
	text, _ := t.Input.Get("command").Text()
	if t.Name != "Bash" {
		return PatchedFiles(text, t.Cwd)
	}
	places, _ := patchPlaces(text, t.Cwd) // lineLeaveReason has refused too many
	return append(PatchedFiles(text, patchFolder(text, t.Cwd)), places...)
}

// canAsk reports whether a person can be asked about a call, by Codex or by the bridge.
//
// Measured with Codex 0.169: under untrusted it asks about each command and patch, except in a
// review, which checkReview refuses. It does not ask about its own tools, nor about those that an
// MCP server declares to be read-only.
func (p *Policy) canAsk(t ToolCall, thread *Thread) bool {
	switch {
	case thread == nil || string(thread.Approval) == `"never"`:
		return false
	case string(thread.Approval) == `"untrusted"`:
		return t.Name == "Bash" || t.Name == "apply_patch"
	}
	return p.gate && thread.asksAboutRules()
}

func (p *Policy) matchTool(t ToolCall, st State) rules.Match {
	switch {
	case st.Thread == nil:
		return p.matchToolAt(t, st, rules.EscalationUnknown)
	case st.Thread.Sandbox == FullAccess.String():
		return p.matchToolAt(t, st, rules.Escalated) // no sandbox
	}
	return p.matchToolAt(t, st, rules.Sandboxed)
}

// matchToolAt returns the rule for a call inside or outside the sandbox.
func (p *Policy) matchToolAt(t ToolCall, st State, escalation rules.Escalation) rules.Match {
	dirs := rules.Dirs{Home: st.Home, Readings: st.Readings, Lines: st.Lines, ProgramStarts: st.ProgramStarts}
	if st.Thread != nil {
		dirs.Workspace = st.Thread.Workspace
	}
	dirs.Cwd, _ = st.Canonical(t.Cwd)
	p.addRoots(&dirs, st)
	text, ok := t.Input.Get("command").Text()
	switch {
	case t.Name == "Bash" && ok:
		return p.rulesAt(st).Shell(text, t.Shell, escalation, dirs)
	case t.Name == "Bash":
		return p.rulesAt(st).Shell(unreadableLine, "", escalation, dirs)
	case t.Name == "apply_patch":
		return p.rulesAt(st).Files(st.FileChanges(dirs.Workspace, PatchedFiles(text, t.Cwd)), escalation, dirs)
	}
	if rest, ok := strings.CutPrefix(t.Name, "mcp__"); ok {
		server, tool, _ := strings.Cut(rest, "__")
		return p.rulesAt(st).MCP(server, tool)
	}
	if rules.IsResourceTool(t.Name) {
		server, _ := t.Input.Get("server").Text()
		return p.rulesAt(st).Resource(t.Name, server)
	}
	return p.rulesAt(st).Tool(t.Name)
}
