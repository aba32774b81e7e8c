package guard

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// maxExtraPolicies bounds the policies of a thread beside the active one. A thread that would have
// more takes no turn until the client opens it again.
const maxExtraPolicies = 32

// SetFolderPolicies sets how to find the policy of a thread's folder. find returns the policy of the
// policy file in the folder's repository, or nil if it equals the active policy. Call it before the
// conversation starts.
func (g *Guard) SetFolderPolicies(find func(folder string) (*policy.Policy, error)) {
	g.folderPolicy = find
}

// policies returns the policies that a thread is checked against: the active one, and each that was
// active since the thread was opened. The first decides whether decisions are enforced. A
// subagent's thread has the policies of its root thread.
func (g *Guard) policies(thread string) []*policy.Policy {
	current := g.policy.Load()
	extra := slices.DeleteFunc(slices.Clone(g.threads.extraPoliciesOf(g.Session(thread))), func(p *policy.Policy) bool {
		return p.Equal(current) || p.Mode() != config.Enforce
	})
	if current.Mode() == config.Enforce {
		return append([]*policy.Policy{current}, extra...)
	}
	return append(extra, current)
}

// policiesOf returns the policies for a message of the client. A message that opens a thread is
// checked against the active policy and that of the thread's folder.
func (g *Guard) policiesOf(method, thread string) []*policy.Policy {
	if thread == "" || method == "thread/resume" || method == "thread/fork" {
		return []*policy.Policy{g.policy.Load()}
	}
	return g.policies(thread)
}

// folderPolicies returns the policies of the folders in which call opens a thread or runs a command.
func (g *Guard) folderPolicies(ctx context.Context, call *bridge.ClientMessage, d policy.Decision, state *policy.State) (found []*policy.Policy, refusal *rpc.Error) {
	if g.folderPolicy == nil {
		return nil, nil
	}
	var folders []string
	switch {
	case d.Sent != nil:
		folders = g.openingFolders(ctx, call, d, state)
	case call.Method == execMethod && d.Verdict != policy.Deny:
		folders = []string{cmp.Or(sentCwd(d), g.world.StartFolder)}
	}
	seen := make(map[string]bool)
	for _, folder := range folders {
		if folder == "" || seen[folder] {
			continue // the folder is not known
		}
		seen[folder] = true
		p, err := g.folderPolicy(folder)
		if err != nil {
			return nil, refuseFolder(call.Method, "policy", p, err)
		}
		if p != nil {
			found = append(found, p)
		}
	}
	return found, nil
}

// refuseFolder returns the refusal of a method in a folder whose policy file does not load, if p is nil, or has the
// policy p, which can't be enforced: err has each reason, with how to fix it.
func refuseFolder(method, rule string, p *policy.Policy, err error) *rpc.Error {
	what, hint := "does not load", "correct the file"
	if p != nil {
		what, hint = "can't be enforced", "or remove the file"
	}
	reason := "the policy file of its folder " + what + ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
	return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{Method: display.Clip(method), Rule: rule, Field: "params.cwd", Reason: reason, Hint: hint})
}

// execMethod runs a command of the client in a folder, without a thread.
const execMethod = "command/exec"

// sentCwd returns the canonical cwd of the message that Codex gets; "" stands for its start folder.
func sentCwd(d policy.Decision) string {
	m, err := rpc.ParseMessage(d.Message)
	if err != nil {
		return "" // the message is not sent
	}
	cwd, _ := m.Params.Get("cwd").Text()
	return cwd
}

// openingFolders returns the folders in which call opens a thread. These are the folder in the
// message, or else the thread's workspace and current folder. A resume also has the workspaces that
// the thread and its parents have had since Codex loaded them.
func (g *Guard) openingFolders(ctx context.Context, call *bridge.ClientMessage, d policy.Decision, state *policy.State) []string {
	folders := []string{d.Workspace}
	if d.Workspace == "" {
		if state.ThreadFolder == "" && !state.UnknownThread {
			g.readFolder(ctx, call, state)
		}
		folders = []string{d.Sent.CwdWithin, state.ThreadFolder}
	}
	if call.Method == "thread/resume" {
		id, _ := call.Params.Get("threadId").Text()
		for range maxParents { // a subagent inherits the folders of its parents
			folders = append(folders, g.threads.workspacesOf(id)...)
			one := g.child(id)
			if one == nil {
				break
			}
			id = one.Parent
		}
	}
	return folders
}

// decideTogether checks the message that the first policy's decision results in against all
// policies.
func (g *Guard) decideTogether(ctx context.Context, policies []*policy.Policy, call *bridge.ClientMessage, first policy.Decision, state *policy.State) policy.Decision {
	defer func() { state.Policies, state.Rewritten = nil, false }()
	state.Rewritten = true
	return policy.DecideTogether(policies, first, func(p *policy.Policy, m *rpc.Message, with []*policy.Policy) policy.Decision {
		state.Policies, state.Unpinned = with, slices.ContainsFunc(append(slices.Clip(with), p), g.isUnpinned)
		return g.decideWithFacts(ctx, p, call, m, state)
	})
}

// isUnpinned reports whether Codex was started without arguments that a policy requires.
func (g *Guard) isUnpinned(p *policy.Policy) bool {
	return p.Mode() == config.Enforce && !slices.Equal(p.PinArgs(), g.pinArgs)
}

// strictest returns the strictest decision by rank, and its policy.
func strictest(policies []*policy.Policy, decide func(*policy.Policy) policy.Decision, rank func(policy.Decision) int) (policy.Decision, *policy.Policy) {
	d, by := decide(policies[0]), policies[0]
	for _, p := range policies[1:] {
		if p.Mode() == config.Enforce { // an active policy that is not enforced comes last and changes nothing
			if e := decide(p); rank(e) > rank(d) {
				d, by = e, p
			}
		}
	}
	return d, by
}

// strictness ranks decisions about a tool call or a request of Codex.
func strictness(d policy.Decision) int {
	switch {
	case d.Verdict == policy.Deny:
		return 4
	case d.Ask, d.Verdict == policy.Rewrite:
		return 3
	case d.Verdict == policy.Accept:
		return 1
	}
	return 2
}

// recordPolicyChange logs that the policy changed while threads were open, because a command of a
// thread may have changed the file.
func (g *Guard) recordPolicyChange(summary string) {
	g.log.Warn(summary)
	_ = g.record(context.Background(), config.Enforce, subject{method: "bridge/config/changed", canWait: true}, policy.Decision{
		Verdict: policy.Rewrite, Changes: []policy.Change{{Field: "policy", Rule: "policy", Reason: summary}},
	})
}

// keepPolicy adds a replaced policy to every open thread, and returns the number of open threads.
func (t *threads) keepPolicy(old *policy.Policy) (threads int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recordPolicyLocked(old)
	for id := range t.records {
		e := &policyReplaced{old: old}
		if t.applyLocked(id, e); e.kept {
			threads++
		}
	}
	return threads
}

// policyReplaced: a policy is no longer the active one. An open thread is still checked against it.
type policyReplaced struct {
	old  *policy.Policy
	kept bool // set by change
}

func (e *policyReplaced) change(r *threadRecord) {
	switch extra := r.extraPolicies; {
	case len(r.copies()) == 0: // it may take no turn
		return
	case slices.ContainsFunc(extra, e.old.Equal):
	case len(extra) == maxExtraPolicies:
		r.end(refused)
		return
	default:
		r.extraPolicies = append(slices.Clip(extra), e.old)
	}
	e.kept = true
}

// hasEnforcedPolicy reports whether a thread has an extra policy that was enforced.
func (t *threads) hasEnforcedPolicy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, record := range t.records {
		if slices.ContainsFunc(record.extraPolicies, func(p *policy.Policy) bool { return p.Mode() == config.Enforce }) {
			return true
		}
	}
	return false
}

// earlierPolicies returns pastPolicies; known is false if there were more than are stored.
func (t *threads) earlierPolicies() (past []*policy.Policy, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pastPolicies, len(t.pastPolicies) <= maxExtraPolicies
}

// extraPoliciesOf returns the extra policies of a thread; for an unknown thread those of all
// threads.
func (t *threads) extraPoliciesOf(id string) []*policy.Policy {
	t.mu.Lock()
	defer t.mu.Unlock()
	if record := t.records[id]; record != nil && (len(record.copies()) > 0 || record.extraPolicies != nil) {
		return record.extraPolicies
	}
	var all []*policy.Policy
	for _, record := range t.records {
		for _, p := range record.extraPolicies {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// mayOpenUnenforced reports whether threads are opened without an enforced policy, so that a policy
// file of another folder could not be enforced.
func (g *Guard) mayOpenUnenforced() bool {
	return g.folderPolicy != nil && g.policy.Load().Mode() != config.Enforce
}

// openRequests are the methods that open a thread.
var openRequests = []string{"thread/start", "thread/resume", "thread/fork"}

// refuseUnenforced refuses to open a thread, or to run a command, in a folder whose policy file
// requires enforcement if the bridge enforces nothing. Such a thread needs hooks and arguments with
// which Codex was not started.
func (g *Guard) refuseUnenforced(call *bridge.ClientMessage) *rpc.Error {
	if !g.mayOpenUnenforced() || call.Method != execMethod && !slices.Contains(openRequests, call.Method) {
		return nil
	}
	cwd := textOf(call, "cwd")
	if cwd == "" && (call.Method == execMethod || call.Method == "thread/start") {
		cwd = g.world.StartFolder
	}
	if cwd == "" {
		return nil // the folder of the stored thread
	}
	folder, err := g.world.ResolveCwd(cwd)
	if err != nil {
		return nil // Codex refuses the folder, or the policy file can't be reached either
	}
	p, err := g.folderPolicy(folder)
	if err != nil && p == nil {
		g.log.Warn("the policy file of a folder does not load; the request passes without it", "method", call.Method, "folder", folder, "error", err)
		return nil
	}
	if p == nil || p.Mode() != config.Enforce {
		return nil
	}
	if err != nil {
		return refuseFolder(call.Method, "policy.mode", p, err)
	}
	return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: call.Method, Rule: "policy.mode", Field: "params.cwd",
		Reason: "the policy file of this folder requires enforcement, but codex-bridge was started in another folder, where no policy is enforced",
		Hint:   "start the editor in this folder, or set policy.mode = \"enforce\" in your own configuration",
	})
}
