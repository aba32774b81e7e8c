package guard

import (
	"context"
	"path/filepath"
	"strings"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rollout"
	"codex-bridge/rpc"
)

// Workspace is the folder of a thread that may take turns, of a subagent's its parent's;
// "" of another.
func (g *Guard) Workspace(thread string) string {
	one := g.threads.peek(thread)
	if one == nil {
		one = g.rootThread(g.policy.Load(), thread)
	}
	if one == nil {
		return ""
	}
	return one.Workspace
}

// Sandbox is what the sandbox of a turn allows, as Codex has said; "" unknown.
func (g *Guard) Sandbox(thread, turn string) string {
	if one := g.threadFor(thread, turn); one != nil {
		return one.SandboxSummary
	}
	return ""
}

// Ruling is what the policy says of a tool call.
type Ruling struct {
	Refusal string // why it must not run; "" nothing is against it
	Ask     bool   // a person has to be asked, by the bridge
	Why     string // what they are told; "" nothing
	Leaves  bool   // it would leave the sandbox
	Shell   string // that runs a command, with its flags where the call gives them; "" unknown
}

// Tool holds a tool call that Codex is about to run to the policy. call is what Codex
// said of it.
func (g *Guard) Tool(ctx context.Context, thread, turn string, use policy.ToolCall, call []byte) Ruling {
	policies := g.policies(thread)
	if policies[0].Mode() == config.Off {
		return Ruling{}
	}
	state := g.callState(ctx, thread, turn, use, call)
	if state.Thread != nil {
		call := rollout.FindCall(state.CodexHome, state.Thread.Rollout, use.ID)
		state.Escalation, state.EscalationRequested = call.Escalation, call.Requested
		use.Shell, use.Flags = call.Shell, call.Flags
	}
	state.Agent = g.agentSettings(ctx, policies[0], state.Thread, use)
	refusal := g.checkAgentGit(ctx, policies, use, state.Thread)
	foreign := g.agentRefusal(use, thread, turn)
	d, p := strictest(policies, func(p *policy.Policy) policy.Decision {
		if foreign != nil {
			return policy.Decision{Verdict: policy.Deny, Err: foreign}
		}
		if d := p.DecideTool(use, state); d.Verdict == policy.Deny || refusal == nil || !g.wantsGitCheck(p) {
			return d
		}
		return policy.Decision{Verdict: policy.Deny, Err: refusal}
	}, strictness)
	if d.Verdict == policy.Pass {
		if !d.Ask || p.Mode() != config.Enforce {
			return Ruling{}
		}
		return Ruling{Ask: true, Why: d.AskReason, Leaves: d.LeavesSandbox, Shell: strings.TrimSpace(use.Shell + " " + use.Flags)}
	}
	const method = "hook/preToolUse"
	g.logDecision(p.Mode(), method, d)
	// Denied is denied, on record or not.
	_ = g.record(ctx, p.Mode(), subject{method: method, thread: thread, turn: turn, line: call}, d)
	if p.Mode() != config.Enforce {
		return Ruling{}
	}
	g.notifyApplied(method, rpc.ID{}, rpc.Value{}, d)
	return Ruling{Refusal: d.Err.Message}
}

// Permits reports whether a hook's consent to a PermissionRequest may reach Codex.
func (g *Guard) Permits(ctx context.Context, thread, turn string, use policy.ToolCall, call []byte) bool {
	policies := g.policies(thread)
	if policies[0].Mode() == config.Off {
		return true
	}
	d, p := strictest(policies, func(p *policy.Policy) policy.Decision { return p.DecidePermission(use) }, strictness)
	if d.Verdict == policy.Pass {
		return true
	}
	const method = "hook/permissionRequest"
	g.logDecision(p.Mode(), method, d)
	_ = g.record(ctx, p.Mode(), subject{method: method, thread: thread, turn: turn, line: call}, d) // without it the answer is the same
	if p.Mode() != config.Enforce {
		return true
	}
	g.notifyApplied(method, rpc.ID{}, rpc.Value{}, d)
	return false
}

// callState returns the state for a tool call. call is the payload of the hook.
func (g *Guard) callState(ctx context.Context, thread, turn string, use policy.ToolCall, call []byte) policy.State {
	state := g.currentState(rpc.Value{})
	if state.Thread = g.threadFor(thread, turn); state.Thread == nil {
		g.awaitOpening(ctx, thread)
		state.Thread = g.threadFor(thread, turn)
	}
	state.CodexInternal = state.Thread == nil && g.isMemoryWriter(thread, use, call)
	return state
}

// isMemoryWriter reports whether a tool call is made by the agent with which Codex writes its memories.
//
// Measured with Codex 0.169: its thread has no file, is no subagent's, and works in CODEX_HOME/memories_v2,
// which alone its sandbox lets it write. A client can't open a thread there.
func (g *Guard) isMemoryWriter(thread string, use policy.ToolCall, call []byte) bool {
	doc, err := rpc.ParseValue(call)
	if err != nil || g.world.CodexHome == "" || g.threads.isOpenedByClient(thread) {
		return false
	}
	if agent, _ := doc.Root().Get("agent_id").Text(); agent != "" || doc.Root().Get("transcript_path").Kind() != rpc.Null {
		return false
	}
	folder, err := g.world.Paths.Canonical(use.Cwd)
	if err != nil {
		return false
	}
	below, err := filepath.Rel(g.world.CodexHome, folder)
	return err == nil && strings.HasPrefix(below, "memories")
}
