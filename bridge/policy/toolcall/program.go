package toolcall

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// programMethod stands in refusals and logs for the start of a program.
const programMethod = "program/start"

// DecideProgram applies the rules to the start of a program by a tool call. programs are the program, and for
// a script also its interpreters: the strictest decision counts. unreadable says why they are not known; "" if
// they are. The verdict is Deny, or Pass with or without Decision.Ask.
//
// State.Thread is the thread of the call, and nil if it is unknown; State.Escalation says whether the program
// runs outside the sandbox, and State.Accepted are the commands of the call about which a person was asked. A
// program that a rule wants to ask about is denied if no person can be asked.
//
// Only the rules for commands count here. Decide has decided the rest for the whole call.
func DecideProgram(p *policy.Policy, programs []rules.Program, unreadable string, st policy.State) policy.Decision {
	d := policy.Decision{Verdict: policy.Pass}
	if !p.HasRules() {
		return d
	}
	if unreadable != "" {
		unknown := rules.Program{Unreadable: unreadable}
		if len(programs) > 0 {
			unknown.Path = programs[0].Path // for people
		}
		programs = append(slices.Clip(programs), unknown)
	}
	reach, set := programEscalation(st), p.RulesAt(st)
	var m, accepted rules.Match
	for _, prog := range programs {
		one := set.Program(prog, reach, programDirs(prog, st))
		d.Exceptions = policy.AddExceptions(d.Exceptions, one.Exceptions)
		if one.Decision != rules.Ask || !hasAccepted(st, prog, one.Asking) {
			m = rules.Strictest(m, one)
		} else {
			accepted = rules.Strictest(accepted, one)
		}
	}
	switch {
	case m.Decision == rules.Deny:
		return p.RuleRefusal(programMethod, m)
	case m.Decision != rules.Ask:
		d.Consent = consentOf(accepted)
		return d
	case !asksAboutPrograms(p, st.Thread):
		m.Why = strings.TrimPrefix(m.Why+"; the rule wants a question, and this thread has none about a program; use policy.gate and another approvalPolicy than never", "; ")
		return p.RuleRefusal(programMethod, m)
	}
	d.Ask, d.AskReason, d.LeavesSandbox, d.AnswerTerms = true, policy.RuleQuestion(m), reach == rules.Escalated, policy.RuleTerms(m, st)
	d.Consent = consentOf(m)
	if len(m.Approvers) > 0 {
		d.Approvers, d.ApproversRule = m.Approvers, m.Rule
	}
	if d.Unasked = unaskedReason(p, d, st.Thread); p.DeniesMethod(commandApproval) {
		return refuseDenied(p, programMethod, commandApproval, d)
	}
	return d
}

// RefuseUnaskedProgram refuses a program that rules ask about when no person can be asked. why says why not.
func RefuseUnaskedProgram(why string) policy.Decision {
	return RefuseProgram("a rule asks about it, and no person is asked: "+why, "run it yourself, or before the turn ends")
}

// RefuseProgram refuses a program that rules ask about.
func RefuseProgram(reason, hint string) policy.Decision {
	return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{Method: programMethod, Rule: policy.RuleRule, Reason: reason, Hint: hint})}
}

// consentOf names the rules that ask; "" if others than the person must approve.
func consentOf(m rules.Match) string {
	if len(m.Approvers) > 0 {
		return ""
	}
	names := make([]string, len(m.Asking))
	for i, one := range m.Asking {
		names[i] = one.Origin.String() + " " + policy.RuleDigest(*one)
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// commandApproval is the method by which Codex asks about a command.
const commandApproval = "item/commandExecution/requestApproval"

// programEscalation returns whether a program runs outside the sandbox.
func programEscalation(st policy.State) rules.Escalation {
	switch {
	case st.Thread == nil:
		return rules.EscalationUnknown
	case st.Thread.Sandbox == policy.FullAccess.String():
		return rules.Escalated
	}
	return st.Escalation
}

// programDirs returns the folders that rules for a program may name.
func programDirs(prog rules.Program, st policy.State) rules.Dirs {
	dirs := rules.Dirs{Home: st.Home, Cwd: prog.Dir, ProgramFolders: st.PathFolders}
	if st.Thread != nil {
		dirs.Workspace = st.Thread.Workspace
	}
	if st.Paths != nil && prog.Follow == nil {
		dirs.Follow = st.Follow
	}
	return dirs
}

// asksAboutPrograms reports whether the bridge can ask a person about a program of the thread. Codex
// asks about lines only.
func asksAboutPrograms(p *policy.Policy, thread *policy.Thread) bool {
	if thread == nil || slices.Contains([]string{`"never"`, `"untrusted"`}, string(thread.Approval)) {
		return false
	}
	return p.HasGate() && thread.AsksAboutRules()
}

// hasAccepted reports whether a person was asked about the line's command that starts the program, by
// each of the rules.
func hasAccepted(st policy.State, prog rules.Program, asking []*config.Rule) bool {
	return len(asking) > 0 && !slices.ContainsFunc(asking, func(r *config.Rule) bool {
		return !slices.ContainsFunc(st.Accepted, func(a rules.AskedCommand) bool { return a.Covers(prog, r) })
	})
}
