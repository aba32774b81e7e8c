package guard

import (
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/reported"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/rpc"
)

// child is a subagent's thread, with the settings of the turn that was last looked up. It is replaced, never
// changed.
//
// Measured: Codex opens such threads itself and does not report their settings; their requests and hooks
// have ids that no client has opened. Codex's files have the parent of each such thread and the settings of
// each of its turns. The client can't change these files; to start a turn in such a thread, it has to open
// the thread.
type child struct {
	rollout.Subagent
	turn     string // "" if no turn was looked up, or its settings are unknown
	settings *rpc.Doc
}

const (
	maxChildren = 256 // that are kept
	maxParents  = 8   // levels of subagents
)

// child returns a thread from Codex's files; nil if it is not the thread of a subagent, or not written yet.
func (g *Guard) child(id string) *child {
	if one := g.threads.child(id); one != nil {
		return one
	}
	spawned, err := rollout.FindSubagent(g.world.CodexHome, id)
	if err != nil {
		return nil
	}
	one := &child{Subagent: spawned}
	g.threads.setChild(id, one)
	return one
}

// child returns a known subagent's thread; nil for another one.
func (t *threads) child(id string) *child {
	t.mu.Lock()
	defer t.mu.Unlock()
	if record := t.records[id]; record != nil {
		return record.child
	}
	return nil
}

// setChild records a subagent's thread. If there are many, it forgets the others, which are looked up again.
func (t *threads) setChild(id string, one *child) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := 0
	for other, record := range t.records {
		if record.child != nil && other != id {
			known++
		}
	}
	if known >= maxChildren {
		for other := range t.records {
			t.applyLocked(other, childForgotten{})
		}
	}
	t.applyLocked(id, childFound{one: one})
}

// childFound: Codex's files have the thread as a subagent's.
type childFound struct {
	addsRecord
	one *child
}

func (e childFound) change(r *threadRecord) { r.child = e.one }

// childForgotten: the guard keeps what Codex's files have of other threads.
type childForgotten struct{}

func (childForgotten) change(r *threadRecord) { r.child = nil }

// childTurnSettings returns the settings with which a turn of a subagent started. Each turn is looked up
// once, because later its settings may be too far from the end of the file.
func (g *Guard) childTurnSettings(id, turn string, one *child) *rpc.Doc {
	if turn != "" && one.turn == turn {
		return one.settings
	}
	settings := rollout.TurnSettings(g.world.CodexHome, one.Path, turn)
	if settings != nil && turn != "" {
		g.threads.setChild(id, &child{Subagent: one.Subagent, turn: turn, settings: settings})
	}
	return settings
}

// threadFor returns a verified thread for a message of Codex, as its commands run in the turn; turn may be empty. For a
// subagent it returns the settings of the subagent with the state of its root thread. It returns nil if the
// policy does not allow the thread, or if this is not known.
func (g *Guard) threadFor(id, turn string) *policy.Thread {
	if one := g.threads.peek(id); one != nil {
		return g.inTurn(one, turn)
	}
	p := g.policy.Load()
	root := g.rootThread(p, id)
	if root == nil {
		return nil
	}
	one := g.child(id)
	if one == nil {
		return nil
	}
	// Measured: a subagent keeps the settings with which it was started, even if its parent's
	// settings change.
	settings := g.childTurnSettings(id, turn, one)
	if settings == nil {
		return nil
	}
	state := g.machine()
	state.Thread = root
	if p.Mode() == config.Enforce && reported.VerifySettings(p, settings.Root(), state) != nil {
		return nil
	}
	child := policy.ParseThreadSettings(settings.Root())
	child.ID, child.Workspace, child.Project, child.Projects = id, root.Workspace, root.Project, root.Projects
	child.Roots = slices.Concat(root.Profile.Roots, root.Roots, child.Roots)
	child.SettingsChanged, child.Gated, child.RerunsOutside, child.Rollout = root.SettingsChanged, root.Gated, root.RerunsOutside || policy.RerunsOutside(child.Approval), one.Path
	g.threads.makeWritable(id, child.WritableFolders())
	child.Writable = slices.Concat(root.Writable, g.threads.writableOf(id))
	return child
}

// rootThread returns the verified thread from which a subagent's thread comes: the parent, or the
// parent's parent and so on. It returns nil if there is none, or if the client has opened one of
// the threads between: that thread counts by itself, and is not verified.
func (g *Guard) rootThread(p *policy.Policy, id string) *policy.Thread {
	if p.Mode() == config.Off {
		return nil // no threads are verified
	}
	for range maxParents {
		if g.threads.isOpenedByClient(id) {
			return nil
		}
		one := g.child(id)
		if one == nil {
			return nil
		}
		if parent := g.threads.peek(one.Parent); parent != nil {
			return parent
		}
		id = one.Parent
	}
	return nil
}

// Session returns the root thread of a subagent's thread that the client has opened, or the thread
// itself.
func (g *Guard) Session(thread string) string {
	if g.threads.peek(thread) == nil {
		if root := g.rootThread(g.policy.Load(), thread); root != nil {
			return root.ID
		}
	}
	return thread
}

// Parent returns the parent of a subagent's thread, or "" for another thread.
func (g *Guard) Parent(thread string) string {
	if one := g.child(thread); one != nil {
		return one.Parent
	}
	return ""
}

// isRevoked reports whether the client has opened the thread, or a parent of it, and the thread may
// take no more turns.
func (g *Guard) isRevoked(params rpc.Value) bool {
	id, ok := params.Get("threadId").Text()
	if !ok {
		id, _ = params.Get("conversationId").Text() // legacy approvals
	}
	turn, _ := params.Get("turnId").Text()
	return g.isOpened(id) && g.threadFor(id, turn) == nil
}

// isOpened reports whether the client has opened the thread or a parent of it.
func (g *Guard) isOpened(id string) bool {
	for range maxParents {
		if g.threads.isOpenedByClient(id) {
			return true
		}
		one := g.child(id)
		if one == nil {
			return false
		}
		id = one.Parent
	}
	return false
}
