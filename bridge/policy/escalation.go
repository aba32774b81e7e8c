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

// LeaveReason is the rule and the reason why an action would or may leave the sandbox. The zero
// LeaveReason is that of an action that stays.
type LeaveReason struct{ Rule, Reason string }

// Leaves reports whether the action would or may leave the sandbox.
func (l LeaveReason) Leaves() bool { return l.Rule != "" }

// CallLeaveReason judges by the model's own call.
func CallLeaveReason(st State) LeaveReason {
	switch st.Escalation {
	case rules.Sandboxed:
		return LeaveReason{}
	case rules.Escalated:
		return LeaveReason{Rule: RuleEscalation, Reason: "the model requests to run it outside the sandbox"}
	}
	return LeaveReason{Rule: RuleEscalation, Reason: "the bridge can't find out whether it would run in the sandbox"}
}

// PatchLeaveReason compares the paths of a patch with the writable roots. Measured with Codex
// 0.169: it writes an accepted patch anywhere.
func (p *Policy) PatchLeaveReason(method string, params rpc.Value, st State) LeaveReason {
	paths := st.RequestedFiles(method, params)
	if len(paths) == 0 {
		return LeaveReason{Rule: RuleRoots, Reason: "its files are unknown"}
	}
	if st.Thread == nil {
		return LeaveReason{Rule: RuleRoots, Reason: "its thread's writable folders are unknown"}
	}
	limit := p.patchLimit(st)
	roots := p.Allowed(st, st.Thread.Workspace)
	for _, text := range paths {
		found, err := st.Readings(text)
		switch {
		case text == "":
			return LeaveReason{Rule: RuleRoots, Reason: "what it changes is not known"}
		case err != nil:
			return LeaveReason{Rule: RuleRoots, Reason: display.Clip(text) + " can't be resolved: " + err.Error()}
		}
		if link := LinkedFile(found); link != "" {
			return LeaveReason{Rule: RuleProtected, Reason: link + " leads to a policy file by a link"}
		}
		for _, path := range found {
			if at := p.fileLeaveReason(path, limit, roots, st); at.Leaves() {
				return at
			}
		}
	}
	return LeaveReason{}
}

// patchLimit returns what a patch may write in the thread of st, which is not nil.
func (p *Policy) patchLimit(st State) Level {
	if own, ok := ParseMode(st.Thread.Sandbox); ok {
		return min(p.maxLevel, own)
	}
	return p.maxLevel
}

// fileLeaveReason compares one reading of a path of a patch with the writable roots.
func (p *Policy) fileLeaveReason(path string, limit Level, roots []string, st State) LeaveReason {
	switch {
	case limit == ReadOnly:
		return LeaveReason{Rule: RuleSandbox, Reason: "to write " + path + " is more than read-only"}
	case limit == WorkspaceWrite && !WritableBelowAny(roots, path):
		return LeaveReason{Rule: RuleRoots, Reason: path + " is " + outsideReason(path)}
	case st.OverlapsSensitive(path):
		return LeaveReason{Rule: RuleSandbox, Reason: path + " is, or contains, a file of Codex or of the policy"}
	case p.IsProtected(roots, path):
		return LeaveReason{Rule: RuleProtected, Reason: path + " is in one of policy.protected_paths"}
	}
	return LeaveReason{}
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

// KeepsInSandbox reports whether an acceptance under an approval policy keeps a command in the
// sandbox.
func KeepsInSandbox(approval []byte) bool {
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
func RerunsOutside(approval json.RawMessage) bool { return !KeepsInSandbox(approval) }

// LeavesMark begins the reason that a person sees if an action would leave the sandbox.
const LeavesMark = "[codex-bridge: leaves the sandbox] "

// Marked returns the reason for a person, with LeavesMark. Characters that can't be seen are
// escaped: the reason may have the name of a file that the model has chosen.
func (l LeaveReason) Marked() string {
	return LeavesMark + display.Line(l.Reason)
}

// RefuseEscalation refuses an action that would leave the sandbox. Measured with Codex 0.169: after
// a decline the model gets "rejected by user" for a command and "patch rejected by user" for a
// patch, without a reason.
func (p *Policy) RefuseEscalation(method string, at LeaveReason) Decision {
	reason := "it would leave the sandbox: " + at.Reason
	err := NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: RuleEscalation, Reason: reason, Origin: p.OriginOrDefault(RuleEscalation),
		Hint: `run it yourself, or set policy.escalation = "ask"`,
	})
	return Decision{Verdict: Deny, Err: err, Answer: DeclineResult(method, reason)}
}

// ChangesUnasked reports whether a patch of st.Files changes a file that must not be changed without a question,
// and Codex would neither ask nor have its sandbox refuse the change.
//
// Measured with Codex 0.169: it asks about a path with a governing folder at the top of the workspace, as
// the patch spells it, and not about one below.
func (p *Policy) ChangesUnasked(st State) bool {
	if st.Thread == nil {
		return false
	}
	for _, name := range st.Files {
		below, isBelow := strings.CutPrefix(filepath.Clean(name), st.ThreadWorkspace()+string(filepath.Separator))
		if first, _, _ := strings.Cut(below, string(filepath.Separator)); isBelow && slices.Contains(governingFolders, first) {
			return false
		}
	}
	roots := p.Allowed(st, st.ThreadWorkspace())
	return slices.ContainsFunc(st.Files, func(name string) bool {
		found, err := st.Readings(name)
		return err != nil || LinkedFile(found) != "" || slices.ContainsFunc(found, func(path string) bool {
			return WithinAny(roots, path) && p.fileLeaveReason(path, p.patchLimit(st), roots, st).Leaves()
		})
	})
}
