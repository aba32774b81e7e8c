package handlers

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"sync"

	"codex-bridge.example/relay/hook"
)

// retry asks for a bounded number of further passes.
type retry struct {
	Instruction    string `json:"instruction"`
	MaxAttempts    *int   `json:"maxAttempts"` // default 1
	IdempotencyKey string `json:"idempotencyKey"`
}

func (r *retry) key() string {
	if r.IdempotencyKey != "" {
		return "key " + r.IdempotencyKey
	}
	return "instruction " + r.Instruction
}

func (r *retry) maxAttempts() int {
	if r.MaxAttempts == nil {
		return 1
	}
	return *r.MaxAttempts
}

// maxRevisionKeys is the number of counters that are kept. The least recently used one is
// dropped.
const maxRevisionKeys = 2048

// revisionKey identifies a counter: of a turn, or of a retry within a turn. It is a digest,
// because an instruction may be long.
type revisionKey [sha256.Size]byte

func newRevisionKey(call *hook.Call, key string) revisionKey {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", call.SessionID, call.AgentID, call.TurnID, key))
}

// revisionLimiter counts how often stop asked for another pass. Codex sets no limit (136
// rounds in 10 s, measured), and stop_hook_active does not say how often it was asked.
type revisionLimiter struct {
	mu       sync.Mutex
	counters map[revisionKey]*list.Element // of *spending
	order    *list.List                    // most recently used first
}

type revisionCount struct {
	revisionKey
	n int
}

func newRevisionLimiter() *revisionLimiter {
	return &revisionLimiter{counters: make(map[revisionKey]*list.Element), order: list.New()}
}

// take counts one more pass and reports whether it is within the limits.
func (r *revisionLimiter) take(call *hook.Call, most int, again *retry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	spent := []*revisionCount{r.counter(newRevisionKey(call, ""))}
	room := spent[0].n < most
	if again != nil {
		s := r.counter(newRevisionKey(call, again.key()))
		spent = append(spent, s)
		room = room && s.n < again.maxAttempts()
	}
	if !room {
		return false
	}
	for _, s := range spent {
		s.n++
	}
	return true
}

func (r *revisionLimiter) counter(b revisionKey) *revisionCount {
	if e, ok := r.counters[b]; ok {
		r.order.MoveToFront(e)
		return e.Value.(*revisionCount)
	}
	if r.order.Len() >= maxRevisionKeys {
		oldest := r.order.Back()
		delete(r.counters, r.order.Remove(oldest).(*revisionCount).revisionKey)
	}
	s := &revisionCount{revisionKey: b}
	r.counters[b] = r.order.PushFront(s)
	return s
}
