package guard

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/userrules"
)

// Confine keeps an allowed tool call in the thread's sandbox if the user's own rules would let it
// leave. It returns the input with which the call stays in the sandbox, nil if it does so anyway,
// or the reason why it must not run.
func (g *Guard) Confine(ctx context.Context, thread, turn string, use policy.ToolCall, call []byte) (input json.RawMessage, refusal string) {
	p := g.policies(thread)[0]
	if p.Mode() == config.Off {
		return nil, ""
	}
	state := g.callState(ctx, thread, turn, use, call)
	var folders []string
	if state.CodexInternal {
		folders = []string{use.Cwd}
	}
	own, others := g.rulesFor(folders...), ""
	if len(own.Allowing()) > 0 && use.Name == "Bash" {
		others = g.otherHooksOf(ctx, thread, use, state)
	}
	d := p.ConfineCommand(use, state, own, others)
	if d.Verdict == policy.Pass {
		return nil, ""
	}
	const method = "hook/preToolUse"
	g.logDecision(p.Mode(), method, d)
	d = g.recordEffect(ctx, p.Mode(), subject{method: method, thread: thread, turn: turn, line: call, facts: unknownFacts(use.ID, "it depends on the user's own rules for Codex")}, d)
	if p.Mode() != config.Enforce {
		return nil, ""
	}
	g.notifyCall(method, thread, turn, use, d)
	if d.Err != nil {
		return nil, d.Err.Message
	}
	return d.Message, ""
}

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

// rulesFor returns the user's rules for commands, those of the projects of all threads, and those of
// other folders. Rules of a project count only if they let a command leave the sandbox, because Codex
// may not have loaded them.
//
// The rules are the same for each thread: Codex keeps a project's rules when a thread moves, and its
// internal work has those of a thread that it does not name.
func (g *Guard) rulesFor(folders ...string) *userrules.Set {
	own := g.UserRules()
	g.addRestrictions(own)
	project := g.userRules.Read(inProjects(append(folders, g.threads.loadedProjects()...), "rules")...)
	own.Rules = append(own.Rules, project.Allowing()...)
	if own.Err == nil {
		own.Err = project.Err
	}
	return own
}
