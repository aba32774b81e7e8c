package guard

import (
	"path/filepath"
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

// coversInternalWork reports whether the bridge knows the policies and projects of all threads that
// Codex has opened. Its internal work is for one of them, and Codex does not say for which.
func (g *Guard) coversInternalWork() bool {
	_, known := g.threads.earlierPolicies()
	return known && !g.unenforced.Load()
}

// internalPolicies returns the policies for Codex's internal work: the active one, and each that a
// thread has had, even if Codex has unloaded the thread.
func (g *Guard) internalPolicies() []*policy.Policy {
	earlier, _ := g.threads.earlierPolicies()
	return append([]*policy.Policy{g.policy.Load()}, earlier...)
}

// isMemoryWriter reports whether a tool call comes from the agent with which Codex writes its
// memories.
//
// Measured with Codex 0.169: the agent's thread has no file and no parent, and works in
// CODEX_HOME/memories_v2, the only folder that its sandbox lets it write. A client can't open a
// thread there.
func (g *Guard) isMemoryWriter(thread string, use toolcall.Call, call []byte) bool {
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
