package guard

import (
	"context"
	"fmt"
	"slices"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// maxHeld bounds the policies that a thread keeps. A thread with more takes no turn until
// it is opened again.
const maxExtraPolicies = 32

// Workspaces sets how the policy of a thread's folder is found: that of the policy file
// of the folder's repository, nil if it is the same as the one in force.
func (g *Guard) Workspaces(find func(folder string) (*policy.Policy, error)) { g.folderPolicy = find }

// policies returns the policies that a thread is checked against: the one in force, and
// each one that was in force since the thread was opened. The first decides whether
// decisions are enforced. A subagent's thread has those of the thread that started it.
func (g *Guard) policies(thread string) []*policy.Policy {
	current := g.policy.Load()
	held := slices.DeleteFunc(slices.Clone(g.threads.extraPoliciesOf(g.Session(thread))), func(p *policy.Policy) bool {
		return p == current || p.Mode() != config.Enforce
	})
	if current.Mode() == config.Enforce {
		return append([]*policy.Policy{current}, held...)
	}
	return append(held, current)
}

// policiesOf returns the policies that a client's message is checked against. One that opens a thread is checked against
// the policy in force, and that of the thread's folder.
func (g *Guard) policiesOf(method, thread string) []*policy.Policy {
	if thread == "" || method == "thread/resume" || method == "thread/fork" {
		return []*policy.Policy{g.policy.Load()}
	}
	return g.policies(thread)
}

// folderPolicies returns the policies of the folders in which call opens a thread, beside those in force:
// the folder that the message names, or else the thread's workspace and the folder it works in now, and the
// workspaces that it and its parents had since Codex has loaded them.
func (g *Guard) folderPolicies(ctx context.Context, call *bridge.ClientMessage, d policy.Decision, state *policy.State) (found []*policy.Policy, refusal *rpc.Error) {
	if d.Sent == nil || g.folderPolicy == nil {
		return nil, nil
	}
	folders := []string{d.Workspace}
	if d.Workspace == "" {
		if state.ThreadFolder == "" && !state.UnknownThread {
			g.readFolder(ctx, call, state)
		}
		folders = []string{d.Sent.CwdWithin, state.ThreadFolder}
	}
	if call.Method == "thread/resume" {
		id, _ := call.Params.Get("threadId").Text()
		for range maxParents { // a subagent has what its parents had
			folders = append(folders, g.threads.workspacesOf(id)...)
			one := g.children.find(g.world.CodexHome, id)
			if one == nil {
				break
			}
			id = one.Parent
		}
	}
	seen := make(map[string]bool)
	for _, folder := range folders {
		if folder == "" || seen[folder] {
			continue // Codex knows no such thread, or the bridge does not
		}
		seen[folder] = true
		p, err := g.folderPolicy(folder)
		if err != nil {
			return nil, policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
				Method: call.Method, Rule: "policy", Field: "params.cwd", Reason: "the policy file of its folder does not load: " + err.Error(), Hint: "correct the file",
			})
		}
		if p != nil {
			found = append(found, p)
		}
	}
	return found, nil
}

// together checks what the first policy has left of a message against all of them.
func (g *Guard) decideTogether(ctx context.Context, policies []*policy.Policy, call *bridge.ClientMessage, first policy.Decision, state *policy.State) policy.Decision {
	defer func() { state.Policies = nil }()
	return policy.DecideTogether(policies, first, func(p *policy.Policy, m *rpc.Message, with []*policy.Policy) policy.Decision {
		state.Policies, state.Unpinned = with, slices.ContainsFunc(append(slices.Clip(with), p), g.isUnpinned)
		return g.decideWithFacts(ctx, p, call, m, state)
	})
}

// isUnpinned reports whether Codex was started without arguments that a policy wants.
func (g *Guard) isUnpinned(p *policy.Policy) bool {
	return p.Mode() == config.Enforce && !slices.Equal(p.PinArgs(), g.pinArgs)
}

// strictest returns the decision of the highest rank, and the policy that made it.
func strictest(policies []*policy.Policy, decide func(*policy.Policy) policy.Decision, rank func(policy.Decision) int) (policy.Decision, *policy.Policy) {
	d, by := decide(policies[0]), policies[0]
	for _, p := range policies[1:] {
		if p.Mode() == config.Enforce { // one in force that is not comes last, and changes nothing
			if e := decide(p); rank(e) > rank(d) {
				d, by = e, p
			}
		}
	}
	return d, by
}

// strictness ranks decisions about a tool call or a question of Codex's.
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

// changedUnder logs that the policy has changed while threads were open. It may have been a
// command of theirs that changed the file.
func (g *Guard) recordPolicyChange(threads int) {
	summary := fmt.Sprintf("the configuration has changed; %d open threads keep the policies they were opened under, where those are stricter; "+
		"open them again to have the new policy count alone", threads)
	g.log.Warn(summary)
	_ = g.record(context.Background(), config.Enforce, subject{method: "bridge/config/changed"}, policy.Decision{
		Verdict: policy.Rewrite, Changes: []policy.Change{{Field: "policy", Rule: "policy", Reason: summary}},
	})
}

// keeps has every open thread keep a policy that is replaced.
func (t *threads) keepPolicy(was *policy.Policy) (threads int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.updateFoldersLocked()
	for id := range t.verified {
		switch held := t.extraPolicies[id]; {
		case slices.Contains(held, was):
		case len(held) == maxExtraPolicies:
			delete(t.verified, id)
		default:
			t.addPolicy(id, was)
		}
	}
	return len(t.verified)
}

// keepsEnforced reports whether a thread keeps a policy that was enforced.
func (t *threads) hasEnforcedPolicy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, held := range t.extraPolicies {
		if slices.ContainsFunc(held, func(p *policy.Policy) bool { return p.Mode() == config.Enforce }) {
			return true
		}
	}
	return false
}

// hold has a thread keep a policy.
func (t *threads) addPolicy(id string, p *policy.Policy) {
	if t.extraPolicies == nil {
		t.extraPolicies = make(map[string][]*policy.Policy)
	}
	t.extraPolicies[id] = append(slices.Clip(t.extraPolicies[id]), p)
}

// heldBy returns the policies that a thread keeps; of an unknown thread those of all.
func (t *threads) extraPoliciesOf(id string) []*policy.Policy {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.verified[id] != nil || t.extraPolicies[id] != nil {
		return t.extraPolicies[id]
	}
	var all []*policy.Policy
	for _, held := range t.extraPolicies {
		for _, p := range held {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// opensUnenforced reports whether threads are opened without a policy that is enforced, so that the
// policy file of another folder could not be.
func (g *Guard) mayOpenUnenforced() bool {
	return g.folderPolicy != nil && g.policy.Load().Mode() != config.Enforce
}

// opening are the requests that open a thread.
var openRequests = []string{"thread/start", "thread/resume", "thread/fork"}

// refuseUnenforced refuses to open a thread in a folder whose policy file asks for enforcement, where the
// bridge enforces nothing. Its hooks and pins belong to a Codex that was started under it.
func (g *Guard) refuseUnenforced(call *bridge.ClientMessage) *rpc.Error {
	if !g.mayOpenUnenforced() || !slices.Contains(openRequests, call.Method) {
		return nil
	}
	cwd := textOf(call, "cwd")
	if cwd == "" {
		return nil // the folder that the bridge was started in, or that of the stored thread
	}
	folder, err := g.world.ResolveCwd(cwd)
	if err != nil {
		return nil // Codex refuses it, or its policy file can't be reached either
	}
	p, err := g.folderPolicy(folder)
	if err != nil && p == nil {
		g.log.Warn("the policy file of a thread's folder does not load; the thread is opened without it", "folder", folder, "error", err)
		return nil
	}
	if p == nil || p.Mode() != config.Enforce {
		return nil
	}
	return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: call.Method, Rule: "policy.mode", Field: "params.cwd",
		Reason: "the policy file of this folder is to be enforced, and codex-bridge was started elsewhere, where no policy is enforced",
		Hint:   "start the editor in this folder, or set policy.mode = \"enforce\" in your own configuration",
	})
}
