package guard

import (
	"slices"
	"sync"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/rpc"
)

// children has the threads of subagents. Measured: Codex opens them itself and does not report
// their settings; their requests and hooks have ids that no client has opened. Codex's files have
// the parent of each such thread and the settings of each of its turns. The client can't change
// these files; to start a turn in such a thread, it has to open the thread. Safe for concurrent
// use.
type children struct {
	mu    sync.Mutex
	known map[string]*child
}

// child is a subagent's thread, with the settings of the turn that was last looked up.
type child struct {
	rollout.Subagent
	turn     string // "" if no turn was looked up, or its settings are unknown
	settings *rpc.Doc
}

const (
	maxChildren = 256
	maxParents  = 8 // levels of subagents
)

// find returns the thread from Codex's files; nil if it is not the thread of a subagent, or not
// written yet.
func (c *children) find(codexHome, id string) *child {
	c.mu.Lock()
	one := c.known[id]
	c.mu.Unlock()
	if one != nil {
		return one
	}
	spawned, err := rollout.FindSubagent(codexHome, id)
	if err != nil {
		return nil
	}
	one = &child{Subagent: spawned}
	c.put(id, one)
	return one
}

func (c *children) put(id string, one *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxChildren {
		c.known = make(map[string]*child) // removed threads are looked up again
	}
	c.known[id] = one
}

// turnSettings returns the settings with which a turn started. Each turn is looked up once, because
// later its settings may be too far from the end of the file.
func (c *children) turnSettings(codexHome, id, turn string, one *child) *rpc.Doc {
	if turn != "" && one.turn == turn {
		return one.settings
	}
	settings := rollout.TurnSettings(codexHome, one.Path, turn)
	if settings != nil && turn != "" {
		c.put(id, &child{Subagent: one.Subagent, turn: turn, settings: settings})
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
	one := g.children.find(g.world.CodexHome, id)
	if one == nil {
		return nil
	}
	// Measured: a subagent keeps the settings with which it was started, even if its parent's
	// settings change.
	settings := g.children.turnSettings(g.world.CodexHome, id, turn, one)
	if settings == nil {
		return nil
	}
	state := g.machine()
	state.Thread = root
	if p.Mode() == config.Enforce && p.VerifySettings(settings.Root(), state) != nil {
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
		one := g.children.find(g.world.CodexHome, id)
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
	if one := g.children.find(g.world.CodexHome, thread); one != nil {
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
		one := g.children.find(g.world.CodexHome, id)
		if one == nil {
			return false
		}
		id = one.Parent
	}
	return false
}
