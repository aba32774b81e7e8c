package guard

import (
	"slices"
	"sync"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rollout"
	"codex-bridge/rpc"
)

// children are the threads of subagents. Codex opens them by itself and says nothing of
// what they may do: their questions, and their hooks, come under an id that no client
// has opened (measured). What codex has written down of them tells whose they are, and
// what is in force for each of their turns. A client's word never counts here, and to
// take a turn on such a thread it has to open it itself.
type children struct {
	mu    sync.Mutex
	known map[string]*child
}

// child is a subagent's thread, with what was in force in the turn that was asked about
// last.
type child struct {
	rollout.Subagent
	turn     string // "" none was asked about, or nothing is known of it
	settings *rpc.Doc
}

const (
	mostChildren = 256
	deepest      = 8 // how far a parent is from its child's child's child
)

// find is the thread as codex has written it down; nil when that is not the thread of a
// subagent, or not there yet.
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
	if c.known == nil || len(c.known) >= mostChildren {
		c.known = make(map[string]*child) // what is forgotten is looked up again
	}
	c.known[id] = one
}

// inForce is what was in force when the turn began. It is looked up once a turn: later
// it may be too far from the end of the file.
func (c *children) inForce(codexHome, id, turn string, one *child) *rpc.Doc {
	if turn != "" && one.turn == turn {
		return one.settings
	}
	settings := rollout.TurnSettings(codexHome, one.Path, turn)
	if settings != nil && turn != "" {
		c.put(id, &child{Subagent: one.Subagent, turn: turn, settings: settings})
	}
	return settings
}

// thread is the verified thread of that id, as codex speaks of it: that of a subagent
// stands as its parent does. turn may be empty. nil when it is not known to be allowed.
func (g *Guard) thread(id, turn string) *policy.Thread {
	if one := g.threads.peek(id); one != nil {
		return one
	}
	p := g.policy.Load()
	root := g.root(p, id)
	if root == nil {
		return nil
	}
	one := g.children.find(g.world.CodexHome, id)
	if one == nil {
		return nil
	}
	// A child keeps what was in force when it was spawned, whatever becomes of its
	// parent's settings (measured).
	settings := g.children.inForce(g.world.CodexHome, id, turn, one)
	if settings == nil {
		return nil
	}
	state := g.world
	state.Thread = root
	if p.Mode() == config.Enforce && p.VerifySettings(settings.Root(), state) != nil {
		return nil
	}
	child := policy.ParseThreadSettings(settings.Root())
	child.ID, child.Workspace, child.Project, child.Projects = id, root.Workspace, root.Project, root.Projects
	child.Roots = slices.Concat(root.Profile.Roots, root.Roots, child.Roots)
	child.SettingsChanged, child.Gated, child.RerunsOutside, child.Rollout = root.SettingsChanged, root.Gated, root.RerunsOutside || policy.RerunsOutside(child.Approval), one.Path
	g.threads.writable.add(id, child.WritableFolders())
	child.Writable = slices.Concat(root.Writable, g.threads.writable.of(id))
	return child
}

// root is the verified thread that a subagent's thread comes from: its parent, or its
// parent's. nil when there is none, or when the client has opened one of them itself:
// that one stands for itself, and was found not to be allowed.
func (g *Guard) root(p *policy.Policy, id string) *policy.Thread {
	if p.Mode() == config.Off {
		return nil // nothing is verified, and nothing is to be read
	}
	for range deepest {
		if g.threads.opens(id) {
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

// Session is the thread in whose name a thread works: of a subagent's the one that the
// client has opened, else itself.
func (g *Guard) Session(thread string) string {
	if g.threads.peek(thread) == nil {
		if root := g.root(g.policy.Load(), thread); root != nil {
			return root.ID
		}
	}
	return thread
}
