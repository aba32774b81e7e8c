package policy

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

const (
	ruleEscalation = "policy.escalation"
	ruleProtected  = "policy.protected_paths"
)

// leave is why what codex asks about would leave the sandbox, or may. The zero leave
// is that of what stays.
type leave struct{ rule, reason string }

func (l leave) leaves() bool { return l.rule != "" }

// retries is the end of the reason by which codex asks to run a command again
// outside of the sandbox, in 0.169.0 "command failed; retry without sandbox?"; byRule
// that of a question which the user's own rules for commands have asked for.
const (
	retries = "without sandbox?"
	byRule  = "requires approval by policy"
)

// leaving looks whether what codex asks about would leave the sandbox. What is not
// known, leaves.
func (p *Policy) leaving(method string, params rpc.Value, st State) leave {
	switch method {
	case "item/commandExecution/requestApproval":
		return p.commandLeaves(params, st)
	case "execCommandApproval":
		return callLeaves(st)
	case "item/fileChange/requestApproval", "applyPatchApproval":
		if !nothing(params.Get("grantRoot")) {
			return leave{ruleRoots, "it is a consent to all changes below " + show(params.Get("grantRoot"))}
		}
		return p.filesLeave(method, params, st)
	}
	return leave{}
}

func (p *Policy) commandLeaves(params rpc.Value, st State) leave {
	reason, _ := params.Get("reason").Text()
	kind := params.Get("kind")
	switch host := params.Get("networkApprovalContext"); {
	case !nothing(host) && p.network:
		return leave{} // for a person to say
	case !nothing(host):
		return leave{ruleNetwork, "the network is not allowed: " + show(host)}
	case !nothing(params.Get("additionalPermissions")):
		return leave{ruleEscalation, "it asks for more permissions than the sandbox gives"}
	case !nothing(params.Get("approvalId")), !nothing(kind) && !kind.Is("command"):
		return leave{ruleEscalation, "it is about a part of a call, of which codex does not say where it would run"}
	case strings.HasSuffix(reason, retries):
		return leave{ruleEscalation, "it has failed in the sandbox, and would run again outside of it"}
	case st.Thread != nil && asksSandbox(st.Thread) && !strings.HasSuffix(reason, byRule):
		return leave{ruleEscalation, "under sandbox_approval codex asks for what would run outside of the sandbox"}
	}
	return callLeaves(st)
}

// callLeaves judges by the model's own call.
func callLeaves(st State) leave {
	switch st.Escalation {
	case rules.Sandboxed:
		return leave{}
	case rules.Escalated:
		return leave{ruleEscalation, "the model asks for it to run outside of the sandbox"}
	}
	return leave{ruleEscalation, "whether it would run inside of the sandbox can't be found out"}
}

// filesLeave holds the paths of a patch to what may be written: codex writes an
// accepted one anywhere (measured).
func (p *Policy) filesLeave(method string, params rpc.Value, st State) leave {
	paths := st.paths(method, params)
	if len(paths) == 0 {
		return leave{ruleRoots, "what it changes is not known"}
	}
	if st.Thread == nil {
		return leave{ruleRoots, "what its thread may write is not known"}
	}
	limit := p.limit
	if own, ok := levelOf(st.Thread.Sandbox); ok {
		limit = min(limit, own)
	}
	roots := p.allowed(st, st.Thread.Workspace)
	for _, text := range paths {
		path, err := st.canonical(text)
		switch {
		case err != nil:
			return leave{ruleRoots, clipped(text) + " can't be judged: " + err.Error()}
		case limit == readOnly:
			return leave{ruleSandbox, "to write " + path + " is more than read-only"}
		case limit == workspaceWrite && !belowAny(roots, path):
			return leave{ruleRoots, path + " lies " + outside(path)}
		case st.exposes(path):
			return leave{ruleSandbox, path + " is, or holds, something on which codex or the policy rests"}
		case p.protects(roots, path):
			return leave{ruleProtected, path + " lies in one of policy.protected_paths"}
		}
	}
	return leave{}
}

// compileEscalation compiles what is said of leaving the sandbox.
func (p *Policy) compileEscalation(cfg config.Policy) error {
	switch cfg.Escalation {
	case "ask":
		p.letsOut = true
	case "deny", "":
	default:
		return fmt.Errorf("policy.escalation: %q is not deny or ask", cfg.Escalation)
	}
	p.protectedBy = make(map[string][][]string)
	for _, text := range cfg.ProtectedPaths {
		if segments := namesOf(text); len(segments) > 0 {
			p.protected = append(p.protected, segments)
			first := folded(segments[0])
			p.protectedBy[first] = append(p.protectedBy[first], segments)
		}
	}
	return nil
}

// protects tells whether path leads into a protected one, at any depth of a root, or
// of the whole path where it is in none. It does not regard case, so that a doubt
// forbids.
func (p *Policy) protects(roots []string, path string) bool {
	return p.leadsIntoAny(namesOf(inRoot(roots, path)), func([]string) bool { return true })
}

// inRoot is path as seen from the innermost root that it is in; all of it if it is in none.
func inRoot(roots []string, path string) string {
	rest := path
	for _, root := range roots {
		if within(root, path) && len(path)-len(root) < len(rest) {
			rest = path[len(root):]
		}
	}
	return rest
}

// protectsOwn tells whether path leads into one of policy.protected_paths that Codex does
// not protect by itself.
func (p *Policy) protectsOwn(path string) bool {
	return p.leadsIntoAny(namesOf(path), func(kept []string) bool { return !governs(kept[0]) })
}

// leadsToProtected reports whether the last names of a folder are the first names of a protected path, such
// as .github for .github/workflows. If such a folder is a writable root, the path of a file relative to the
// root does not show that the file is protected.
func (p *Policy) leadsToProtected(folder string) bool {
	return slices.ContainsFunc(p.protected, func(kept []string) bool {
		for n := 1; n < len(kept); n++ {
			if tail := strings.ToLower(filepath.Join(kept[:n]...)); strings.HasSuffix(strings.ToLower(filepath.Clean(folder)), string(filepath.Separator)+tail) {
				return true
			}
		}
		return false
	})
}

// leadsIntoAny reports whether the names of a path lead into a protected one for which counts is true.
func (p *Policy) leadsIntoAny(names []string, counts func(kept []string) bool) bool {
	for i, name := range names {
		candidates := p.protected
		if !strings.Contains(name, "*") {
			candidates = p.protectedBy[folded(name)]
		}
		for _, kept := range candidates {
			if beginWith(names[i:], kept) && counts(kept) {
				return true
			}
		}
	}
	return false
}

// folded returns the same text for all names that are equal but for their case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}

// namesOf returns the names of a path.
func namesOf(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' })
}

// beginWith reports whether the names of a path begin with those of kept. It does not regard case, so that a doubt
// forbids. An asterisk in a name stands for any characters, but a name of asterisks alone is no such name: nothing of
// it is known.
func beginWith(names, kept []string) bool {
	return len(names) >= len(kept) && slices.EqualFunc(names[:len(kept)], kept, mayBe)
}

// mayBe reports whether a name, with asterisks for unknown characters, may be the other one.
func mayBe(name, kept string) bool {
	if !strings.Contains(name, "*") {
		return strings.EqualFold(name, kept)
	}
	if strings.Trim(name, "*") == "" {
		return false
	}
	literal := strings.NewReplacer("[", "\\[", "?", "\\?", "\\", "\\\\")
	matched, err := path.Match(literal.Replace(strings.ToLower(name)), strings.ToLower(kept))
	return matched || err != nil
}

// reach says where an accept leads to, for the rules.
//
// Measured: under untrusted, and under granular with sandbox_approval, what was
// accepted and fails in the sandbox runs again outside of it, and nobody is asked a
// second time. So an accept keeps a command inside under on-request and granular
// without it alone, on a thread that has a sandbox.
func (p *Policy) reach(l leave, st State) rules.Escalation {
	t := st.Thread
	if l.leaves() || t == nil || t.RerunsOutside || t.Sandbox != modeNames[readOnly] && t.Sandbox != modeNames[workspaceWrite] {
		return rules.EscalationUnknown
	}
	if !approvalKeeps(t.Approval) {
		return rules.EscalationUnknown
	}
	return rules.Sandboxed
}

// filesReach is reach for a patch: nothing of it runs twice, but on a read-only
// thread any is more than the sandbox allows.
func (p *Policy) filesReach(l leave, st State) rules.Escalation {
	if l.leaves() || st.Thread == nil || st.Thread.Sandbox != modeNames[workspaceWrite] && st.Thread.Sandbox != modeNames[fullAccess] {
		return rules.EscalationUnknown
	}
	return rules.Sandboxed
}

// approvalKeeps tells whether an accept under an approval policy keeps a command in
// the sandbox.
func approvalKeeps(approval []byte) bool {
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

// asksSandbox tells whether a thread's questions are about leaving the sandbox.
func asksSandbox(t *Thread) bool {
	doc, err := rpc.ParseValue(t.Approval)
	if err != nil {
		return false
	}
	asks, _ := doc.Root().Get("granular").Get("sandbox_approval").Bool()
	return asks
}

// RerunsOutside tells whether an accept under that approval policy may let a command out, as
// it does under one that is not known.
func RerunsOutside(approval json.RawMessage) bool { return !approvalKeeps(approval) }

// RunsInSandbox tells whether what codex asks about would run in the sandbox, as far as is
// known when it is asked.
func (p *Policy) RunsInSandbox(method string, params rpc.Value, st State) bool {
	return !p.leaving(method, params, st).leaves()
}

// AcceptStaysInSandbox tells whether an accept of what codex asks about keeps it in the sandbox, now
// and whatever becomes of it.
func (p *Policy) AcceptStaysInSandbox(method string, params rpc.Value, st State) bool {
	at := p.leaving(method, params, st)
	_, reach := p.ruling(method, params, st, at)
	return !at.leaves() && reach == rules.Sandboxed && nothing(params.Get("networkApprovalContext"))
}
