package approvals

import (
	"context"
	"slices"
	"sync"
)

// MCPCalls are the running calls of MCP servers' tools in all threads of a Codex, which its clients share.
// The zero value is ready for use. Codex reports each of them by the hook
// PreToolUse, by item/started, and, if it will ask about the call, by the hook PermissionRequest.
//
// A question of Codex about a call and a question that a server asks by itself are the same request, and the
// server writes all of its fields that tell them apart. These reports are not in its hands. Measured with
// Codex 0.169 and 0.171: the hook PermissionRequest runs once for each question of Codex about such a
// call, before it, and never for a question of a server.
//
// Safe for concurrent use.
type MCPCalls struct {
	mu      sync.Mutex
	calls   []*mcpCall    // oldest first
	changed chan struct{} // closed when a call changes; nil: no goroutine waits
}

// mcpCall is one call. The names of the server and its tool are their own.
type mcpCall struct {
	thread, turn, id string
	name             string // Codex's, of the hook; "": not reported
	server, tool     string // of the item; "": not reported
	arguments        string // canonical; "{}" without arguments
	rawArguments     string
	isAsked          bool   // Codex has run the hook PermissionRequest
	isExpected       bool   // Codex asks a question about the call
	questionID       string // id of that question; "": it has not come yet
}

// maxMCPCalls is how many calls are kept. The person is asked about a call that is forgotten.
const maxMCPCalls = 1024

// update changes a call, and adds it if it is not known.
func (m *MCPCalls) update(thread, turn, id string, change func(*mcpCall)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.calls, func(c *mcpCall) bool { return c.id == id && c.turn == turn && c.thread == thread })
	if i < 0 {
		if len(m.calls) == maxMCPCalls {
			m.calls = slices.Delete(m.calls, 0, 1)
		}
		i, m.calls = len(m.calls), append(m.calls, &mcpCall{thread: thread, turn: turn, id: id})
	}
	change(m.calls[i])
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// end removes a call.
func (m *MCPCalls) end(thread, turn, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = slices.DeleteFunc(m.calls, func(c *mcpCall) bool { return c.id == id && c.turn == turn && c.thread == thread })
}

// ask returns the call about which Codex will ask, by the input of the hook PermissionRequest, and
// waits for its item/started until ctx ends. Each call is returned once. It returns false if the call is
// not known, or if it could be a call of another tool.
func (m *MCPCalls) ask(ctx context.Context, thread, turn, name, arguments string) (mcpCall, bool) {
	for {
		m.mu.Lock()
		var found, other *mcpCall
		same := true
		for _, c := range m.calls {
			if c.thread != thread || c.turn != turn || c.name != name || c.arguments != arguments || c.server == "" {
				continue
			}
			if other == nil {
				other = c
			}
			same = same && c.server == other.server && c.tool == other.tool
			if found == nil && !c.isAsked {
				found = c
			}
		}
		if found != nil {
			found.isAsked, found.isExpected = true, true
			one := *found
			m.mu.Unlock()
			return one, same
		}
		if m.changed == nil {
			m.changed = make(chan struct{})
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return mcpCall{}, false
		}
	}
}

// answered records that Codex does not ask about a call any more.
func (m *MCPCalls) answered(one mcpCall) {
	m.update(one.thread, one.turn, one.id, func(c *mcpCall) { c.isExpected = false })
}

// isExpected reports whether a question with an id is the one that Codex asks about a call. Codex asks once,
// and each client gets that question with the same id.
func (m *MCPCalls) isExpected(id, thread, turn, server, tool, arguments string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := func(c *mcpCall) bool {
		return c.isExpected && c.thread == thread && c.turn == turn && c.server == server && c.tool == tool && c.arguments == arguments
	}
	if slices.ContainsFunc(m.calls, func(c *mcpCall) bool { return same(c) && c.questionID == id }) {
		return true
	}
	i := slices.IndexFunc(m.calls, func(c *mcpCall) bool { return same(c) && c.questionID == "" })
	if i < 0 {
		return false
	}
	m.calls[i].questionID = id
	return true
}
