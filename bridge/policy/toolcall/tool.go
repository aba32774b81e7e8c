package toolcall

import (
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// Call is a tool call before it runs, as Codex describes it to a hook. Hooks get every call,
// also those without a question.
type Call struct {
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
func (t Call) Summary() string {
	text, ok := t.Input.Get("command").Text()
	switch {
	case t.Name == "Bash" && ok:
		return text
	case t.Name == "apply_patch" && ok:
		return "apply_patch " + strings.Join(rules.PatchedFiles(text), ", ")
	}
	return t.Name + " " + string(t.Input.Raw())
}

// Decide applies the rules and policy.escalation to a tool call. The verdict is Deny, or Pass
// with or without Decision.Ask. A call that a rule wants to ask about is denied if no person can be
// asked.
//
// Measured with Codex 0.169: a hook does not get whether the command will leave the sandbox. Codex
// asks about a call that does, and serverrequest.Decide then applies the rules with escalated. Here the
// thread's sandbox counts.
func Decide(p *policy.Policy, t Call, st policy.State) policy.Decision {
	d, _ := decide(p, t, st)
	return d
}

// decide is Decide. It also returns the rule that matches.
func decide(p *policy.Policy, t Call, st policy.State) (d policy.Decision, m rules.Match) {
	const method = "hook/preToolUse"
	asks := canAsk(p, t, st.Thread)
	if st.Lines == nil {
		st.Lines = new(rules.LineCache)
	}
	if t.AppliesPatch() {
		st.EscalationRequested = false // Codex applies a patch inside the roots without a question, whatever the call requests
	}
	if p.HasRules() {
		m = matchTool(p, t, st)
		switch {
		case m.Decision == rules.Deny:
			d = p.RuleRefusal(method, m)
		case m.Decision == rules.Ask && !asks:
			m.Why = strings.TrimPrefix(m.Why+"; the rule wants a question, and this thread has none; use policy.gate and another approvalPolicy than never", "; ")
			d = p.RuleRefusal(method, m)
		}
	}
	if err := checkCallerModel(p, t); d.Err == nil && err != nil {
		d = policy.Decision{Verdict: policy.Deny, Err: err}
	}
	if d.Err == nil && st.IsUnverified() {
		d = p.RefuseUnverified(method)
	}
	if d.Err == nil && p.Missing() != "" {
		d = p.RefuseMissing(method)
	}
	if where := RedirectedFolder(st); d.Err == nil && where != "" && (t.Name == "Bash" || t.Name == "apply_patch") {
		d = p.RefuseEscalation(method, policy.LeaveReason{Rule: policy.RuleRoots, Reason: where + " now leads elsewhere by a link, and commands could write there; replace the link by the folder itself, or start another thread"})
	}
	if err := checkSubagent(p, t, st); d.Err == nil && err != nil {
		d = policy.Decision{Verdict: policy.Deny, Err: err}
	}
	if d.Err == nil {
		line := LineLeaveReason(p, t, st)
		at := toolLeaveReason(p, t, st, line)
		if !at.Leaves() {
			m = withoutConsent(p, t, m)
			d = decideAsk(p, t, st, m, line)
			d.Unasked = unaskedReason(p, d, st.Thread)
			d.Verdict, d.AnswerTerms, d.AllowedByRule, d.Asked = policy.Pass, policy.RuleTerms(m, st), m.Decision == rules.Allow, m.Asked
			if d = RefuseQuestion(p, d, t); d.Err != nil {
				return d, m
			}
			addApprovers(p, &d, t, st, m)
			if !st.EscalationRequested { // or Codex asks, and the rules decide again
				d.Exceptions = m.Exceptions
			}
			return d, m
		}
		d = refuseLeaving(p, method, at, st)
	}
	d.Answer = nil
	return d, m
}

// toolLeaveReason returns why a call must be denied because it leaves the sandbox. The policy may
// forbid that; a denial here avoids a question and gives the model the reason, which it does not
// get after a declined question. Or Codex would not ask. line is the result of LineLeaveReason.
func toolLeaveReason(p *policy.Policy, t Call, st policy.State, line policy.LeaveReason) policy.LeaveReason {
	text, _ := t.Input.Get("command").Text()
	asks := p.AsksEscalation() && !st.Thread.RefusesToLeave()
	if line.Leaves() && (!asks || !canAsk(p, t, st.Thread)) {
		return line
	}
	switch {
	case t.Name == "apply_patch":
	case t.Name != "Bash" || asks:
		return policy.LeaveReason{}
	case st.Escalation == rules.Escalated:
		return policy.CallLeaveReason(st)
	case !rules.AppliesPatch(text):
		return policy.LeaveReason{}
	}
	st.Files = t.ChangedFiles()
	at := p.PatchLeaveReason("item/fileChange/requestApproval", rpc.Value{}, st)
	if !asks || at.Leaves() && !canAsk(p, t, st.Thread) && p.ChangesUnasked(st) {
		return at
	}
	return policy.LeaveReason{}
}

// ChangedFiles returns the absolute names of the files that a call changes by a patch. Those of a shell
// command are in any folder that Codex could read from it.
func (t Call) ChangedFiles() []string {
	text, _ := t.Input.Get("command").Text()
	if t.Name != "Bash" {
		return policy.PatchedFiles(text, t.Cwd)
	}
	places, _ := patchPlaces(text, t.Cwd) // lineLeaveReason has refused too many
	return append(policy.PatchedFiles(text, patchFolder(text, t.Cwd)), places...)
}

// canAsk reports whether a person can be asked about a call, by Codex or by the bridge.
//
// Measured with Codex 0.169: under untrusted it asks about each command and patch, except in a
// review, which checkReview refuses. It does not ask about its own tools, nor about those that an
// MCP server declares to be read-only.
func canAsk(p *policy.Policy, t Call, thread *policy.Thread) bool {
	switch {
	case thread == nil || string(thread.Approval) == `"never"`:
		return false
	case string(thread.Approval) == `"untrusted"`:
		return t.Name == "Bash" || t.Name == "apply_patch"
	}
	return p.HasGate() && thread.AsksAboutRules()
}

func matchTool(p *policy.Policy, t Call, st policy.State) rules.Match {
	switch {
	case st.Thread == nil:
		return matchToolAt(p, t, st, rules.EscalationUnknown)
	case st.Thread.Sandbox == policy.FullAccess.String():
		return matchToolAt(p, t, st, rules.Escalated) // no sandbox
	}
	return matchToolAt(p, t, st, rules.Sandboxed)
}

// matchToolAt returns the rule for a call inside or outside the sandbox.
func matchToolAt(p *policy.Policy, t Call, st policy.State, escalation rules.Escalation) rules.Match {
	dirs := rules.Dirs{Home: st.Home, Readings: st.Readings, Lines: st.Lines, ProgramStarts: st.ProgramStarts}
	if st.Thread != nil {
		dirs.Workspace = st.Thread.Workspace
	}
	dirs.Cwd, _ = st.Canonical(t.Cwd)
	p.AddRoots(&dirs, st)
	text, ok := t.Input.Get("command").Text()
	switch {
	case t.Name == "Bash" && ok:
		return p.RulesAt(st).Shell(text, t.Shell, escalation, dirs)
	case t.Name == "Bash":
		return p.RulesAt(st).Shell(policy.UnreadableLine, "", escalation, dirs)
	case t.Name == "apply_patch":
		return p.RulesAt(st).Files(st.FileChanges(dirs.Workspace, policy.PatchedFiles(text, t.Cwd)), escalation, dirs)
	}
	if rest, ok := strings.CutPrefix(t.Name, "mcp__"); ok {
		server, tool, _ := strings.Cut(rest, "__")
		return p.RulesAt(st).MCP(server, tool)
	}
	if rules.IsResourceTool(t.Name) {
		server, _ := t.Input.Get("server").Text()
		return p.RulesAt(st).Resource(t.Name, server)
	}
	return p.RulesAt(st).Tool(t.Name)
}
