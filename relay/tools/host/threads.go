package host

import (
	"bytes"
	"encoding/json"
	"sync"

	"codex-bridge.example/relay/tools"
)

// thread is a thread that was opened through the bridge.
type thread struct {
	cwd string
	// clientTools are the client's tools; nil if they are not known, because another
	// process started the thread.
	clientTools map[tools.Name]bool
	fingerprint string // of the host's tools that the client was last informed of
	// isUnchecked is true until the thread's tools have been compared to the current ones.
	isUnchecked bool
}

// threadStates are the open threads by id.
type threadStates struct {
	mu             sync.Mutex
	known          map[string]*thread
	hasClientTools bool // the client has sent tools of its own
	last           json.RawMessage
	hasLast        bool            // last is the dynamicTools of a thread/start of the client
	substituted    json.RawMessage // a list that the bridge computed in place of the client's
}

// maxThreads is how many threads are remembered. The calls of others are assigned by name.
const maxThreads = 4096

func (t *threadStates) put(id string, one *thread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = make(map[string]*thread)
	}
	if len(t.known) >= maxThreads {
		for other := range t.known { // any
			delete(t.known, other)
			break
		}
	}
	t.known[id] = one
	t.hasClientTools = t.hasClientTools || len(one.clientTools) > 0
}

// addReopened records a thread that was resumed, or forked from another. Its tools are
// known only if that was opened here.
func (t *threadStates) addReopened(from, id, cwd, print string) (known bool) {
	t.mu.Lock()
	old := t.known[from]
	one := &thread{cwd: cwd, fingerprint: print, isUnchecked: old == nil}
	if old != nil {
		one.clientTools, one.fingerprint, one.isUnchecked = old.clientTools, old.fingerprint, old.isUnchecked
	}
	t.mu.Unlock()
	t.put(id, one)
	return old != nil
}

// setChecked records that a thread's tools have been compared.
func (t *threadStates) setChecked(id, print string) {
	t.change(id, func(one *thread) {
		if one.isUnchecked {
			one.isUnchecked, one.fingerprint = false, print
		}
	})
}

// change changes a thread, if it is known.
func (t *threadStates) change(id string, f func(*thread)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.known[id]; one != nil {
		f(one)
	}
}

// setClientTools records the client's own tools in a thread/start.
func (t *threadStates) setClientTools(list json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.substituted == nil || !bytes.Equal(t.substituted, list) {
		t.last, t.hasLast = list, true
	}
}

// setSubstituted records a list that was computed in place of the client's.
func (t *threadStates) setSubstituted(list json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.substituted = list
}

// clientToolList returns the client's own tools; sure is true if the client has sent them,
// or that it has none.
func (t *threadStates) clientToolList() (list json.RawMessage, sure bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last, t.hasLast
}

func (t *threadStates) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, id)
}

// cwd returns a thread's folder; known is false if the thread is not known.
func (t *threadStates) cwd(id string) (cwd string, known bool) {
	t.change(id, func(one *thread) { cwd, known = one.cwd, true })
	return cwd, known
}

// isClientTool reports whether a thread's tool is the client's; sure is false for a guess.
func (t *threadStates) isClientTool(id string, tool tools.Name) (clients, sure bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.known[id]
	if one == nil || one.clientTools == nil {
		return t.hasClientTools, false
	}
	return one.clientTools[tool], true
}

// markOutdated counts the threads whose client was informed of other tools, and marks them
// as informed.
func (t *threadStates) markOutdated(print string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, one := range t.known {
		if one.fingerprint != print && !one.isUnchecked {
			one.fingerprint = print
			n++
		}
	}
	return n
}
