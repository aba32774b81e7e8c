package bridge

import (
	"sync"

	"codex-bridge/rpc"
)

// asked are the requests of codex that the client has heard and not answered, by
// rpc.ID.Key, with who wants to see the answer. A client answers once: what comes
// under the same id again is an answer to nothing.
type asked struct {
	mu sync.Mutex
	m  map[string][]func(*Reply)
}

func newAsked() *asked { return &asked{m: make(map[string][]func(*Reply))} }

// add is called before the client hears of it.
func (a *asked) add(id rpc.ID, f []func(*Reply)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.m[id.Key()] = f
}

func (a *asked) drop(key string) ([]func(*Reply), bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, ok := a.m[key]
	delete(a.m, key)
	return f, ok
}
