package policy

import (
	"slices"
	"strings"

	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// ToolCall is a tool call that Codex is about to run, as it describes it to a hook:
// every call, also one that nobody is asked about.
type ToolCall struct {
	ID    string    // of the call
	Name  string    // Bash, apply_patch, mcp__SERVER__TOOL, a dynamic tool's own
	Input rpc.Value // {"command": …} for Bash and apply_patch
	Cwd   string
	Model string // that makes the call; "" unknown
	// Shell is the shell that runs a command, "bash", "zsh" or "sh"; "" unknown. Flags are
	// its flags where the call gives them. A hook is not told them: the model's call says.
	Shell, Flags string
}

// DecideTool holds a tool call to the rules and to policy.escalation: Deny, or Pass
// with or without Decision.Ask. What the rules want asked is denied where nobody is.
//
// Whether the command will leave the sandbox a hook does not tell (measured). A call
// that does is asked about, and the rules for those are held to then; here counts
// what the thread's sandbox is.
func (p *Policy) DecideTool(t ToolCall, st State) Decision {
	const method = "hook/preToolUse"
	var d Decision
	var m rules.Match
	asks := p.canAsk(st.Thread)
	if p.rules != nil {
		m = p.matchTool(t, st)
		switch {
		case m.Decision == rules.Deny:
			d = p.ruleRefusal(method, m)
		case m.Decision == rules.Ask && !asks:
			m.Why = strings.TrimPrefix(m.Why+"; a rule wants this asked, and nobody is asked in this thread: policy.gate asks where approvalPolicy is not never", "; ")
			d = p.ruleRefusal(method, m)
		}
	}
	if err := p.checkCallerModel(t); d.Err == nil && err != nil {
		d = Decision{Verdict: Deny, Err: err}
	}
	if d.Err == nil && st.isUnverified() {
		d = p.refuseUnverified(method)
	}
	if where := st.redirectedFolder(); d.Err == nil && where != "" && (t.Name == "Bash" || t.Name == "apply_patch") {
		d = p.refuseEscalation(method, leaveReason{ruleRoots, where + " now leads elsewhere, and codex would let that be written; start another thread"})
	}
	if err := p.checkSubagent(t, st); d.Err == nil && err != nil {
		d = Decision{Verdict: Deny, Err: err}
	}
	if d.Err == nil {
		line := p.lineLeaveReason(t, st)
		at := p.toolLeaveReason(t, st, line)
		if !at.leaves() {
			d = p.decideAsk(t, st, m, line)
			d.Verdict = Pass
			return d
		}
		d = p.refuseEscalation(method, at)
	}
	d.Answer = nil
	return d
}

// toolLeaves is why a call leaves the sandbox that must not: where the policy forbids
// it to all, which spares the person a question and tells the model why (of a question
// that is declined it hears no reason: measured), and where Codex would not ask. line is what lineLeaves says.
func (p *Policy) toolLeaveReason(t ToolCall, st State, line leaveReason) leaveReason {
	text, _ := t.Input.Get("command").Text()
	if line.leaves() && (!p.asksEscalation || !p.canAsk(st.Thread)) {
		return line
	}
	switch {
	case t.Name == "apply_patch":
	case t.Name != "Bash" || p.asksEscalation:
		return leaveReason{}
	case st.Escalation == rules.Escalated:
		return callLeaveReason(st)
	case !holdsPatch(text):
		return leaveReason{}
	}
	if t.Name == "Bash" {
		t.Cwd = patchFolder(text, t.Cwd)
	}
	st.Files = st.patchedPaths(text, t.Cwd)
	at := p.patchLeaveReason("item/fileChange/requestApproval", rpc.Value{}, st)
	if !p.asksEscalation || at.rule == ruleProtected && !p.canAsk(st.Thread) && !slices.ContainsFunc(st.Files, codexAsksAbout) {
		return at
	}
	return leaveReason{}
}

// asks tells whether a person can be asked about any call: Codex does by itself, or the
// bridge in its place.
func (p *Policy) canAsk(t *Thread) bool {
	return t != nil && (string(t.Approval) == `"untrusted"` || p.gate && string(t.Approval) != `"never"`)
}

func (p *Policy) matchTool(t ToolCall, st State) rules.Match {
	dirs := rules.Dirs{Home: st.Home, Resolve: st.canonical}
	escalation := rules.Sandboxed
	if st.Thread == nil {
		escalation = rules.EscalationUnknown
	} else {
		dirs.Workspace = st.Thread.Workspace
		if st.Thread.Sandbox == fullAccess.String() {
			escalation = rules.Escalated // there is none
		}
	}
	dirs.Cwd, _ = st.canonical(t.Cwd)
	p.addRoots(&dirs, st)
	text, ok := t.Input.Get("command").Text()
	switch {
	case t.Name == "Bash" && ok:
		return p.rules.Shell(text, t.Shell, escalation, dirs)
	case t.Name == "Bash":
		return p.rules.Shell(unreadableLine, "", escalation, dirs)
	case t.Name == "apply_patch":
		var changes []rules.Change
		for _, path := range st.patchedPaths(text, t.Cwd) {
			changes = append(changes, rules.Change{Path: path})
		}
		return p.rules.Files(changes, escalation, dirs)
	}
	if rest, ok := strings.CutPrefix(t.Name, "mcp__"); ok {
		server, tool, _ := strings.Cut(rest, "__")
		return p.rules.MCP(server, tool)
	}
	return p.rules.Tool(t.Name)
}
