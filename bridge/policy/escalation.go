package policy

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
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

// callLeaveReason judges by the model's own call.
func callLeaveReason(st State) leaveReason {
	switch st.Escalation {
	case rules.Sandboxed:
		return leaveReason{}
	case rules.Escalated:
		return leaveReason{rule: ruleEscalation, reason: "the model requests to run it outside the sandbox"}
	}
	return leaveReason{rule: ruleEscalation, reason: "the bridge can't find out whether it would run in the sandbox"}
}

// patchLeaveReason compares the paths of a patch with the writable roots. Measured with Codex
// 0.169: it writes an accepted patch anywhere.
func (p *Policy) patchLeaveReason(method string, params rpc.Value, st State) leaveReason {
	paths := st.RequestedFiles(method, params)
	if len(paths) == 0 {
		return leaveReason{rule: ruleRoots, reason: "its files are unknown"}
	}
	if st.Thread == nil {
		return leaveReason{rule: ruleRoots, reason: "its thread's writable folders are unknown"}
	}
	limit := p.patchLimit(st)
	roots := p.allowed(st, st.Thread.Workspace)
	for _, text := range paths {
		found, err := st.Readings(text)
		switch {
		case text == "":
			return leaveReason{rule: ruleRoots, reason: "what it changes is not known"}
		case err != nil:
			return leaveReason{rule: ruleRoots, reason: display.Clip(text) + " can't be resolved: " + err.Error()}
		}
		if link := policyFileLink(found); link != "" {
			return leaveReason{rule: ruleProtected, reason: link + " leads to a policy file by a link"}
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
	case limit == ReadOnly:
		return leaveReason{rule: ruleSandbox, reason: "to write " + path + " is more than read-only"}
	case limit == WorkspaceWrite && !writableBelowAny(roots, path):
		return leaveReason{rule: ruleRoots, reason: path + " is " + outsideReason(path)}
	case st.overlapsSensitive(path):
		return leaveReason{rule: ruleSandbox, reason: path + " is, or contains, a file of Codex or of the policy"}
	case p.isProtected(roots, path):
		return leaveReason{rule: ruleProtected, reason: path + " is in one of policy.protected_paths"}
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

// RerunsOutside reports whether Codex may run an accepted command again outside the sandbox under
// the approval policy. It returns true for an unknown policy.
func RerunsOutside(approval json.RawMessage) bool { return !keepsInSandbox(approval) }

// leavesMark begins the reason that a person sees if an action would leave the sandbox.
const leavesMark = "[codex-bridge: leaves the sandbox] "

// marked returns the reason for a person, with leavesMark. Characters that can't be seen are
// escaped: the reason may have the name of a file that the model has chosen.
func (l leaveReason) marked() string {
	return leavesMark + display.Line(l.reason)
}

// refuseEscalation refuses an action that would leave the sandbox. Measured with Codex 0.169: after
// a decline the model gets "rejected by user" for a command and "patch rejected by user" for a
// patch, without a reason.
func (p *Policy) refuseEscalation(method string, at leaveReason) Decision {
	reason := "it would leave the sandbox: " + at.reason
	err := NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: ruleEscalation, Reason: reason, Origin: p.OriginOrDefault(ruleEscalation),
		Hint: `run it yourself, or set policy.escalation = "ask"`,
	})
	return Decision{Verdict: Deny, Err: err, Answer: DeclineResult(method, reason)}
}

// isUnasked reports whether a patch of st.Files changes a file that must not be changed without a question,
// and Codex would neither ask nor have its sandbox refuse the change.
//
// Measured with Codex 0.169: it asks about a path with a governing folder at the top of the workspace, as
// the patch spells it, and not about one below.
func (p *Policy) isUnasked(st State) bool {
	if st.Thread == nil {
		return false
	}
	for _, name := range st.Files {
		below, isBelow := strings.CutPrefix(filepath.Clean(name), st.ThreadWorkspace()+string(filepath.Separator))
		if first, _, _ := strings.Cut(below, string(filepath.Separator)); isBelow && slices.Contains(governingFolders, first) {
			return false
		}
	}
	roots := p.allowed(st, st.ThreadWorkspace())
	return slices.ContainsFunc(st.Files, func(name string) bool {
		found, err := st.Readings(name)
		return err != nil || policyFileLink(found) != "" || slices.ContainsFunc(found, func(path string) bool {
			return withinAny(roots, path) && p.fileLeaveReason(path, p.patchLimit(st), roots, st).leaves()
		})
	})
}
