package host

import (
	"bytes"
	"encoding/json"
	"sync"
)

// thread is one that was opened through the bridge.
type thread struct {
	cwd string
	// own are the client's tools; nil where it is not known which they are, since the
	// thread was started by another process.
	own   map[name]bool
	print string // of the host's tools, as the thread has last been told
	// unsure tells that it is not known yet which tools the thread has.
	unsure bool
}

// name is a tool's whole name.
type name struct{ namespace, tool string }

// threads are the threads by id.
type threads struct {
	mu     sync.Mutex
	known  map[string]*thread
	theirs bool // the client has offered tools of its own
	last   json.RawMessage
	seen   bool            // the client has started a thread, with last for its dynamicTools
	lent   json.RawMessage // not the client's own words for its tools
}

// maxThreads bounds what is remembered. Of a thread that is forgotten the calls are told
// apart by their names.
const maxThreads = 4096

func (t *threads) put(id string, one *thread) {
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
	t.theirs = t.theirs || len(one.own) > 0
}

// reopened takes note of a thread that codex has had before, as the other one or itself.
// It is not known what that was started with unless it was opened here.
func (t *threads) reopened(from, id, cwd, print string) (known bool) {
	t.mu.Lock()
	old := t.known[from]
	one := &thread{cwd: cwd, print: print, unsure: old == nil}
	if old != nil {
		one.own, one.print, one.unsure = old.own, old.print, old.unsure
	}
	t.mu.Unlock()
	t.put(id, one)
	return old != nil
}

// checked takes note that a thread has been told about its tools.
func (t *threads) checked(id, print string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.known[id]; one != nil && one.unsure {
		one.unsure, one.print = false, print
	}
}

// sends takes note of the client's own tools in a thread/start.
func (t *threads) sends(list json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lent == nil || !bytes.Equal(t.lent, list) {
		t.last, t.seen = list, true
	}
}

// lends takes note of a list that is no client's own, though it stands for one.
func (t *threads) lends(list json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lent = list
}

// sent are the client's own tools; sure, that it has named them, or that there are none.
func (t *threads) sent() (list json.RawMessage, sure bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last, t.seen
}

func (t *threads) has(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[id] != nil
}

func (t *threads) moves(id, cwd string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.known[id]; one != nil {
		one.cwd = cwd
	}
}

func (t *threads) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, id)
}

// cwd is a thread's folder; "" not known.
func (t *threads) cwd(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.known[id]; one != nil {
		return one.cwd
	}
	return ""
}

// whose tells whether a tool of a thread is the client's; sure, that it is known.
func (t *threads) whose(id string, tool name) (clients, sure bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.known[id]
	if one == nil || one.own == nil {
		return t.theirs, false
	}
	return one.own[tool], true
}

// outdated counts the threads that have been told of other tools than those of print, as
// which it is noted that they are told.
func (t *threads) outdated(print string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, one := range t.known {
		if one.print != print && !one.unsure {
			one.print = print
			n++
		}
	}
	return n
}
