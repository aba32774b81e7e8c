package replay

import (
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// Effect is what a policy does about a call or a message, from the loosest to the strictest.
type Effect int

// The effects.
const (
	Allows         Effect = iota // it happens without a question of the policy
	Asks                         // a person is asked
	NeedsApprovers               // a second person is asked, too
	Denies
)

// String returns "allow", "ask", "approvers" or "deny".
func (e Effect) String() string { return [...]string{"allow", "ask", "approvers", "deny"}[e] }

// MarshalText implements encoding.TextMarshaler.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Recomputed is the effect of a policy on recorded facts.
type Recomputed struct {
	Effect               Effect
	Approvers            []config.Quorum // of NeedsApprovers, sorted
	Rule, Origin, Reason string
	Unknown              string // why the effect can't be computed; "" if it is known
}

// IsLooser reports whether out allows anything that earlier does not. Another group of approvers may approve
// what the earlier one would not, and fewer of them may, too.
func (out Recomputed) IsLooser(earlier Recomputed) bool {
	return out.Effect < earlier.Effect || out.Effect == earlier.Effect && !needsAll(out.Approvers, earlier.Approvers)
}

// IsTighter reports whether out is not looser than earlier, and stricter.
func (out Recomputed) IsTighter(earlier Recomputed) bool {
	return !out.IsLooser(earlier) && earlier.IsLooser(out)
}

// IsSame reports whether neither of both effects is looser.
func (out Recomputed) IsSame(other Recomputed) bool {
	return out.Unknown == other.Unknown && !out.IsLooser(other) && !other.IsLooser(out)
}

// needsAll reports whether list needs all that some needs.
func needsAll(list, some []config.Quorum) bool {
	return !slices.ContainsFunc(some, func(s config.Quorum) bool {
		return !slices.ContainsFunc(list, func(q config.Quorum) bool { return q.Group == s.Group && q.Count >= s.Count })
	})
}

// needApprovers sets the effect to NeedsApprovers, by the rule of m.
func (out *Recomputed) needApprovers(m rules.Match) {
	out.Effect, out.Approvers = NeedsApprovers, m.Approvers
	out.Rule, out.Origin, out.Reason = policy.RuleApprovers, m.Rule.Origin.String(), policy.RuleReason(m)
}

func unknownEffect(reason string) Recomputed { return Recomputed{Unknown: reason} }

// Case has the state of Facts for Recompute. It belongs to one goroutine.
type Case struct {
	method string
	call   *toolcall.Call // nil: a request
	params rpc.Value
	state  policy.State
	// programs are those of the start of a program; nil: it is about something else.
	programs   []rules.Program
	unreadable string
	paths      *replayedPaths

	settings string // Facts.Settings
}

// NewCase returns the state of a decision about method. unknown is why it can't be recomputed.
func NewCase(method string, f *Facts) (r *Case, unknown string) {
	if f.Unknown != "" {
		return nil, f.Unknown
	}
	r = &Case{method: method, programs: f.startedPrograms(), unreadable: f.Unreadable, settings: f.Settings, paths: &replayedPaths{answers: f.Paths}}
	r.state = policy.State{
		Escalation: f.Escalation, EscalationRequested: f.Requested, ThreadRevoked: f.Revoked, CodexInternal: f.Internal, CallKnown: f.CallKnown, ProgramStarts: f.ProgramStarts,
		Files: f.Files, Home: f.Home, CodexHome: f.CodexHome, Sensitive: f.Sensitive, Programs: f.Programs, PathFolders: f.Folders, Links: f.Links, Paths: r.paths, Lines: new(rules.LineCache),
	}
	for _, path := range f.Temps {
		r.state.Temps = append(r.state.Temps, policy.TempFolder{Path: path})
	}
	if t := f.Thread; t != nil {
		r.state.Thread = &policy.Thread{
			Workspace: t.Workspace, Sandbox: t.Sandbox, Approval: t.Approval, Gated: t.Gated, RerunsOutside: t.RerunsOutside,
			LacksProfile: t.LacksProfile, Roots: t.Roots, Writable: t.Writable,
			Profile: policy.Profile{Defined: t.ProfileDefined, Roots: t.ProfileRoots, Protected: t.ProfileProtected},
		}
	}
	input := f.Params
	if len(f.Starts) > 0 || f.Unreadable != "" {
		input = []byte("{}")
	}
	if t := f.Tool; t != nil {
		r.call = &toolcall.Call{ID: f.ID, Name: t.Name, Cwd: t.Cwd, Model: t.Model, Shell: t.Shell, Flags: t.Flags}
		member, text := "server", t.Server
		if t.Command != nil {
			member, text = "command", *t.Command
		}
		input = []byte(`{"` + member + `":` + string(policy.JSONString(text)) + "}")
	}
	doc, err := rpc.ParseValue(input)
	if err != nil {
		return nil, "its facts can't be read"
	}
	if r.params = doc.Root(); r.call != nil {
		r.call.Input = doc.Root()
	}
	return r, ""
}

// Recompute returns the effect of the policy on a recorded call or request, as its rules count at now, by the
// functions that decide in the proxy. Where the effect depends on a path that was not resolved then, it is
// unknown.
func Recompute(p *policy.Policy, r *Case, now time.Time) Recomputed {
	r.state.Now = func() time.Time { return now }
	r.paths.begin(p.RootPaths(r.state.Home), true)
	out := recompute(p, r)
	switch {
	case out.Unknown != "":
		return out
	case r.paths.missing != "":
		return unknownEffect("it depends on a path that the record does not have")
	case r.paths.assumed:
		// A root that is, or is behind, a link allows nothing.
		r.paths.begin(r.paths.roots, false)
		if other := recompute(p, r); !other.IsSame(out) || r.paths.missing != "" {
			return unknownEffect("it depends on whether a folder of policy.writable_roots was a link")
		}
	}
	if p.Mode() == config.Enforce && p.Settings() != r.settings && !r.deniedByRule(out) {
		return unknownEffect("its thread would have another sandbox or approval policy")
	}
	return out
}

// deniedByRule reports whether a rule denies the call whatever the settings of its thread are.
func (r *Case) deniedByRule(out Recomputed) bool {
	t := r.state.Thread
	return out.Effect == Denies && out.Rule == policy.RuleRule && t != nil && t.Sandbox != policy.FullAccess.String()
}

func recompute(p *policy.Policy, r *Case) Recomputed {
	isStart := len(r.programs) > 0 || r.unreadable != ""
	if p.Mode() != config.Enforce {
		return unenforced(p, !isStart && r.call == nil && serverrequest.IsApproval(r.method, r.params) && r.method != "item/tool/call")
	}
	if isStart {
		return recomputeProgram(p, r)
	}
	if r.call != nil {
		if r.method == "hook/permissionRequest" {
			out := effectOf(toolcall.DecidePermission(p, *r.call, r.state), Allows)
			out.Effect = min(out.Effect, Asks) // without the hook's consent, Codex asks
			return out
		}
		a, d := toolcall.ExplainDecision(p, *r.call, r.state)
		out := Recomputed{Effect: map[string]Effect{"allow": Allows, "ask": Asks, "deny": Denies}[a.Decision], Rule: a.Rule, Origin: a.Origin, Reason: a.Reason}
		if out.Effect != Denies && len(d.Approvers) > 0 {
			out.needApprovers(rules.Match{Approvers: d.Approvers, Rule: d.ApproversRule, Decision: rules.Ask})
		}
		return out
	}
	return recomputeRequest(p, r)
}

// recomputeRequest returns the effect on a request of Codex. Whether approvers have approved the call depends on
// the policy, so the record does not count: they are asked before Codex asks.
func recomputeRequest(p *policy.Policy, r *Case) Recomputed {
	passed := Allows
	if serverrequest.IsApproval(r.method, r.params) && r.method != "item/tool/call" {
		passed = Asks
	}
	st := r.state
	if serverrequest.CanBeApproved(r.method, r.params) {
		st.Approved = policy.ApprovedOutside
	}
	out := effectOf(serverrequest.Decide(p, r.method, r.params, st), passed)
	m := serverrequest.Approvers(p, r.method, r.params, st)
	if out.Effect == Denies || len(m.Approvers) == 0 {
		return out
	}
	if st.Escalation == rules.Sandboxed && st.Approved != policy.NotApproved {
		st.Approved = policy.ApprovedInside
		if serverrequest.Decide(p, r.method, r.params, st).Verdict == policy.Deny {
			return unknownEffect("it depends on whether its approvers would see that it may leave the sandbox")
		}
	}
	m.Decision = rules.Ask
	out.needApprovers(m)
	return out
}

// unenforced is the effect of a policy that is not enforced: Codex asks as it does by itself.
func unenforced(p *policy.Policy, question bool) Recomputed {
	out := Recomputed{Rule: policy.RuleMode, Origin: p.RuleOrigin(policy.RuleMode), Reason: "the policy is not enforced"}
	if question {
		out.Effect = Asks
	}
	return out
}

// effectOf returns the effect of a decision; passed is that of Pass.
func effectOf(d policy.Decision, passed Effect) Recomputed {
	if r := d.Refusal(); r != nil {
		return Recomputed{Effect: Denies, Rule: r.Rule, Origin: r.Origin, Reason: r.Reason}
	}
	out := Recomputed{Effect: passed}
	switch d.Verdict {
	case policy.Accept:
		out.Effect = Allows
	case policy.Rewrite:
		out.Effect = Asks
	}
	if len(d.Changes) > 0 {
		out.Rule, out.Origin, out.Reason = d.Changes[0].Rule, d.Changes[0].Origin, d.Changes[0].Reason
	}
	return out
}

// RecomputeMethod returns the effect of policy.methods and of the method table on a client's request,
// of which only the method is recorded.
func RecomputeMethod(p *policy.Policy, method string) Recomputed {
	if p.Mode() != config.Enforce {
		return unenforced(p, false)
	}
	row, verdict, known := p.MethodVerdict(&rpc.Message{Kind: rpc.Request, Method: method})
	switch {
	case verdict == methods.Deny:
		return effectOf(p.RefuseMethod(row, verdict, known), Denies)
	case verdict == methods.Ask:
		out := effectOf(p.RefuseMethod(row, verdict, known), Denies)
		out.Effect = Asks
		return out
	case verdict == methods.Pass && !policy.RunsCommand(method):
		key, origin := p.MethodOrigin(method)
		return Recomputed{Effect: Allows, Rule: key, Origin: origin}
	}
	return unknownEffect(unrecordedMessage)
}

const unrecordedMessage = "it depends on the fields of a client's message, which the log does not have"

// replayedPaths answers as the file system did when the decision was recorded.
type replayedPaths struct {
	answers []pathAnswer
	roots   []string // of the policy
	plain   bool     // a root that was not resolved counts as a folder without a link; else as unusable
	missing string   // a path without an answer
	assumed bool     // plain has counted
}

func (r *replayedPaths) begin(roots []string, plain bool) {
	r.roots, r.plain, r.missing, r.assumed = roots, plain, "", false
}

// Canonical implements Paths.
func (r *replayedPaths) Canonical(path string) (string, error) { return r.find(path, false) }

// Follow implements Paths.
func (r *replayedPaths) Follow(path string) (string, error) { return r.find(path, true) }

// Readings implements Paths.
func (r *replayedPaths) Readings(path string) ([]string, error) {
	if a := r.answer(pathAnswer{Path: path, Readings: []string{}}); a != nil {
		return a.Readings, a.problem()
	}
	r.missing = path
	return nil, policy.PathError("it was not resolved")
}

// answer returns the recorded answer of the same method about the same path; nil if there is none.
func (r *replayedPaths) answer(to pathAnswer) *pathAnswer {
	if i := slices.IndexFunc(r.answers, to.isOf); i >= 0 {
		return &r.answers[i]
	}
	return nil
}

func (r *replayedPaths) find(path string, follow bool) (string, error) {
	if a := r.answer(pathAnswer{Path: path, Follow: follow}); a != nil {
		return a.result()
	}
	if !follow && slices.Contains(r.roots, path) {
		r.assumed = true
		if r.plain {
			return path, nil
		}
		return "", policy.PathError("it counts as a link")
	}
	r.missing = path
	return "", policy.PathError("it was not resolved")
}

// StaysInGrammar reports whether a rule may be proposed for a recorded call or request: it stays in
// the sandbox, and a command is a line that all shells read alike and names no protected path. why says
// why not.
func StaysInGrammar(p *policy.Policy, r *Case) (command string, why string) {
	t := r.state.Thread
	switch {
	case t == nil:
		return "", "the rights of its thread are not known"
	case t.Sandbox != policy.WorkspaceWrite.String() && t.Sandbox != policy.ReadOnly.String():
		return "", "its thread has no sandbox"
	case len(r.programs) > 0 || r.unreadable != "":
		return "", "it is the start of a program, which the rule that refuses it names"
	case r.call == nil:
		return "", "Codex asks about it, so a rule about the call does not decide alone"
	case r.call.Name != "Bash":
		return "", ""
	case r.state.Escalation != rules.Sandboxed || r.state.EscalationRequested:
		return "", "it leaves the sandbox, or may"
	}
	command, _ = r.call.Input.Get("command").Text()
	if why := rules.Outside(command); why != "" {
		return "", "its command line is not one that all shells read alike: " + why
	}
	for word := range strings.FieldsFuncSeq(command, func(c rune) bool { return strings.ContainsRune(" \n'\"=:,;|&<>", c) }) {
		if policy.IsGoverning(word) || p.LeadsInto(word, func([]string) bool { return true }) {
			return "", "it names a protected path"
		}
	}
	return command, ""
}
