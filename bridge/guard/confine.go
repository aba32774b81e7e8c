package guard

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/userrules"
)

// Confine keeps an allowed tool call in the thread's sandbox if the user's own rules would let it
// leave. It returns the input with which the call stays in the sandbox, nil if it does so anyway,
// or the reason why it must not run.
func (g *Guard) Confine(ctx context.Context, thread, turn string, use toolcall.Call, call []byte) (input json.RawMessage, refusal string) {
	p := g.policies(thread)[0]
	if p.Mode() == config.Off {
		return nil, ""
	}
	state := g.callState(ctx, thread, turn, use, call)
	own, others := g.rulesOfCall(use, state), ""
	if len(own.Allowing()) > 0 && use.Name == "Bash" {
		others = g.otherHooksOf(ctx, thread, use, state)
	}
	d := toolcall.Confine(p, use, state, own, others)
	if d.Verdict == policy.Pass {
		return nil, ""
	}
	const method = "hook/preToolUse"
	g.logDecision(p.Mode(), method, d)
	d = g.recordEffect(ctx, p.Mode(), subject{method: method, thread: thread, turn: turn, line: call, facts: unknownFacts(use.ID, dependsOnCodexRules)}, d)
	if p.Mode() != config.Enforce {
		return nil, ""
	}
	g.notifyCall(method, thread, turn, use, d)
	if d.Err != nil {
		return nil, d.Err.Message
	}
	return d.Message, ""
}

// applyCodexRules applies the rules for Codex that ask or forbid to a decision. ruled reports whether the decision
// depends on them.
func (g *Guard) applyCodexRules(p *policy.Policy, before policy.Decision, use toolcall.Call, state policy.State) (d policy.Decision, ruled bool) {
	if use.Name != "Bash" {
		return before, false
	}
	d = toolcall.ApplyCodexRules(p, before, use, state, g.rulesOfCall(use, state))
	return d, d.Verdict != before.Verdict || d.Ask != before.Ask
}

// dependsOnCodexRules is why a decision can't be recomputed.
const dependsOnCodexRules = "it depends on the user's own rules for Codex"

// RuleFolders returns the folders in which Codex looks for rules for commands in every thread.
func RuleFolders(world policy.State) []string {
	folders := slices.Clone(systemRules)
	if world.CodexHome != "" {
		folders = append(folders, filepath.Join(world.CodexHome, "rules"))
	}
	return folders
}

// UserRules returns the user's own rules for commands, which apply to every thread.
func (g *Guard) UserRules() *userrules.Set { return g.userRules.Read(RuleFolders(g.world)...) }

// rulesOfCall returns the rules for commands that may apply to a call.
func (g *Guard) rulesOfCall(use toolcall.Call, state policy.State) *userrules.Set {
	if state.CodexInternal {
		return g.rulesFor(use.Cwd)
	}
	return g.rulesFor()
}

// rulesFor returns the user's rules for commands, those of the projects of all threads, and those of
// other folders. Codex may not have loaded each of them.
//
// The rules are the same for each thread: Codex keeps a project's rules when a thread moves, and its
// internal work has those of a thread that it does not name.
func (g *Guard) rulesFor(folders ...string) *userrules.Set {
	all := g.userRules.Read(append(RuleFolders(g.world), inProjects(append(folders, g.threads.loadedProjects()...), "rules")...)...)
	g.addRestrictions(all)
	return all
}
