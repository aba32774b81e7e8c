package policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

const (
	ruleEscalation = "policy.escalation"
	ruleProtected  = "policy.protected_paths"
	ruleSecrets    = "secrets" // State.Secrets; doctor has the same name
)

// leaveReason is the rule and the reason why an action would or may leave the sandbox. The zero
// leaveReason is that of an action that stays.
type leaveReason struct{ rule, reason string }

func (l leaveReason) leaves() bool { return l.rule != "" }

// retrySuffix ends the reason of a question about running a command again outside the sandbox,
// "command failed; retry without sandbox?" in 0.169.0. userRuleSuffix ends the reason of a question
// that the user's own rules for Codex require.
const (
	retrySuffix    = "without sandbox?"
	userRuleSuffix = "requires approval by policy"
)

// questionLeaveReason returns why the action of a request of Codex would leave the sandbox. An
// unknown action leaves it.
func (p *Policy) questionLeaveReason(method string, params rpc.Value, st State) leaveReason {
	switch method {
	case "item/commandExecution/requestApproval":
		return p.commandLeaveReason(params, st)
	case "execCommandApproval":
		return callLeaveReason(st)
	case "item/fileChange/requestApproval", "applyPatchApproval":
		if !isUnset(params.Get("grantRoot")) {
			return leaveReason{ruleRoots, "it allows all changes below " + formatValue(params.Get("grantRoot"))}
		}
		return p.patchLeaveReason(method, params, st)
	}
	return leaveReason{}
}

func (p *Policy) commandLeaveReason(params rpc.Value, st State) leaveReason {
	reason, _ := params.Get("reason").Text()
	kind := params.Get("kind")
	switch host := params.Get("networkApprovalContext"); {
	case !isUnset(host) && p.network:
		return leaveReason{} // a person decides
	case !isUnset(host):
		return leaveReason{ruleNetwork, "the policy forbids the network: " + formatValue(host)}
	case !isUnset(params.Get("additionalPermissions")):
		return leaveReason{ruleEscalation, "it requests more permissions than the sandbox gives"}
	case !isUnset(params.Get("approvalId")), !isUnset(kind) && !kind.Is("command"):
		return leaveReason{ruleEscalation, "it is about a part of a call, and Codex does not say where that would run"}
	case strings.HasSuffix(reason, retrySuffix):
		return leaveReason{ruleEscalation, "it failed in the sandbox and would run again outside"}
	case st.Thread != nil && asksForEscalation(st.Thread) && !strings.HasSuffix(reason, userRuleSuffix):
		return leaveReason{ruleEscalation, "under sandbox_approval, Codex asks about commands outside the sandbox"}
	}
	return callLeaveReason(st)
}

// callLeaveReason judges by the model's own call.
func callLeaveReason(st State) leaveReason {
	switch st.Escalation {
	case rules.Sandboxed:
		return leaveReason{}
	case rules.Escalated:
		return leaveReason{ruleEscalation, "the model requests to run it outside the sandbox"}
	}
	return leaveReason{ruleEscalation, "the bridge can't find out whether it would run in the sandbox"}
}

// patchLeaveReason compares the paths of a patch with the writable roots. Measured with Codex
// 0.169: it writes an accepted patch anywhere.
func (p *Policy) patchLeaveReason(method string, params rpc.Value, st State) leaveReason {
	paths := st.requestedFiles(method, params)
	if len(paths) == 0 {
		return leaveReason{ruleRoots, "its files are unknown"}
	}
	if st.Thread == nil {
		return leaveReason{ruleRoots, "its thread's writable folders are unknown"}
	}
	limit := p.patchLimit(st)
	roots := p.allowed(st, st.Thread.Workspace)
	for _, text := range paths {
		found, err := st.readings(text)
		switch {
		case text == "":
			return leaveReason{ruleRoots, "what it changes is not known"}
		case err != nil:
			return leaveReason{ruleRoots, clip(text) + " can't be resolved: " + err.Error()}
		}
		if link := policyFileLink(found); link != "" {
			return leaveReason{ruleProtected, link + " leads to a policy file by a link"}
		}
		for _, path := range found {
			if at := p.fileLeaveReason(path, limit, roots, st); at.leaves() {
				return at
			}
		}
	}
	return leaveReason{}
}

// patchLimit returns what a patch may write in the thread of st, which is not nil.
func (p *Policy) patchLimit(st State) level {
	if own, ok := parseMode(st.Thread.Sandbox); ok {
		return min(p.maxLevel, own)
	}
	return p.maxLevel
}

// fileLeaveReason compares one reading of a path of a patch with the writable roots.
func (p *Policy) fileLeaveReason(path string, limit level, roots []string, st State) leaveReason {
	switch {
	case limit == readOnly:
		return leaveReason{ruleSandbox, "to write " + path + " is more than read-only"}
	case limit == workspaceWrite && !writableBelowAny(roots, path):
		return leaveReason{ruleRoots, path + " is " + outsideReason(path)}
	case st.overlapsSensitive(path):
		return leaveReason{ruleSandbox, path + " is, or contains, a file of Codex or of the policy"}
	case p.isProtected(roots, path):
		return leaveReason{ruleProtected, path + " is in one of policy.protected_paths"}
	}
	return leaveReason{}
}

// compileEscalation compiles policy.escalation and policy.protected_paths.
func (p *Policy) compileEscalation(cfg config.Policy) error {
	switch cfg.Escalation {
	case "ask":
		p.asksEscalation = true
	case "deny", "":
	default:
		return fmt.Errorf("policy.escalation: %q is not deny or ask", cfg.Escalation)
	}
	p.protectedByName = make(map[string][][]string)
	for _, text := range cfg.ProtectedPaths {
		if segments := splitPath(text); len(segments) > 0 {
			p.protected = append(p.protected, segments)
			first := rules.FoldCase(segments[0])
			p.protectedByName[first] = append(p.protectedByName[first], segments)
		}
	}
	return nil
}

// commandEscalation returns where an accepted command runs, for the rules.
//
// Measured with Codex 0.169: under untrusted, and under granular with sandbox_approval, an accepted
// command that fails in the sandbox runs again outside without a second question. So an acceptance
// keeps a command inside only under on-request and under granular without sandbox_approval, in a
// thread with a sandbox.
func (p *Policy) commandEscalation(l leaveReason, st State) rules.Escalation {
	t := st.Thread
	if l.leaves() || t == nil || t.RerunsOutside || t.Sandbox != modeNames[readOnly] && t.Sandbox != modeNames[workspaceWrite] {
		return rules.EscalationUnknown
	}
	if !keepsInSandbox(t.Approval) {
		return rules.EscalationUnknown
	}
	return rules.Sandboxed
}

// patchEscalation is commandEscalation for a patch. Codex applies a patch once, but in a read-only
// thread any patch exceeds the sandbox.
func (p *Policy) patchEscalation(l leaveReason, st State) rules.Escalation {
	if l.leaves() || st.Thread == nil || st.Thread.Sandbox != modeNames[workspaceWrite] && st.Thread.Sandbox != modeNames[fullAccess] {
		return rules.EscalationUnknown
	}
	return rules.Sandboxed
}

// keepsInSandbox reports whether an acceptance under an approval policy keeps a command in the
// sandbox.
func keepsInSandbox(approval []byte) bool {
	doc, err := rpc.ParseValue(approval)
	if err != nil {
		return false
	}
	if doc.Root().Is("on-request") || doc.Root().Is("never") {
		return true
	}
	asks, ok := doc.Root().Get("granular").Get("sandbox_approval").Bool()
	return ok && !asks
}

// asksForEscalation reports whether the thread's approval policy has sandbox_approval, so that its
// questions are about leaving the sandbox.
func asksForEscalation(t *Thread) bool {
	doc, err := rpc.ParseValue(t.Approval)
	if err != nil {
		return false
	}
	asks, _ := doc.Root().Get("granular").Get("sandbox_approval").Bool()
	return asks
}

// RerunsOutside reports whether Codex may run an accepted command again outside the sandbox under
// the approval policy. It returns true for an unknown policy.
func RerunsOutside(approval json.RawMessage) bool { return !keepsInSandbox(approval) }

// RunsInSandbox reports whether the action of a request of Codex would run in the sandbox, as far
// as the bridge knows.
func (p *Policy) RunsInSandbox(method string, params rpc.Value, st State) bool {
	return !p.questionLeaveReason(method, params, st).leaves()
}

// AcceptStaysInSandbox reports whether an acceptance keeps the action in the sandbox, also after a
// failure.
func (p *Policy) AcceptStaysInSandbox(method string, params rpc.Value, st State) bool {
	at := p.questionLeaveReason(method, params, st)
	_, reach := p.ruleMatch(method, params, st, at)
	return !at.leaves() && reach == rules.Sandboxed && isUnset(params.Get("networkApprovalContext"))
}
