package handlers

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"sync"

	"codex-bridge/relay/hook"
)

// retry is one more pass that is asked for a bounded number of times.
type retry struct {
	Instruction    string `json:"instruction"`
	MaxAttempts    *int   `json:"maxAttempts"` // 1 when left out
	IdempotencyKey string `json:"idempotencyKey"`
}

func (r *retry) key() string {
	if r.IdempotencyKey != "" {
		return "key " + r.IdempotencyKey
	}
	return "instruction " + r.Instruction
}

func (r *retry) attempts() int {
	if r.MaxAttempts == nil {
		return 1
	}
	return *r.MaxAttempts
}

// maxBudgets is how many counts are kept; the one that was not used for longest goes.
const maxBudgets = 2048

// budget is what revisions are counted by: those of a turn, and in it by key. It is a digest:
// an instruction may be as long as all that a handler prints.
type budget [sha256.Size]byte

func newBudget(call *hook.Call, key string) budget {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", call.SessionID, call.AgentID, call.TurnID, key))
}

// revisions counts how often stop asked for one more pass. Codex sets no limit to
// it (136 rounds in 10 s, measured), and stop_hook_active only says that it was
// asked before, not how often.
type revisions struct {
	mu    sync.Mutex
	count map[budget]*list.Element // of *spending
	order *list.List               // last used first
}

type spending struct {
	budget
	n int
}

func newRevisions() *revisions {
	return &revisions{count: make(map[budget]*list.Element), order: list.New()}
}

// take tells whether one more pass may be asked for, and counts it.
func (r *revisions) take(call *hook.Call, most int, again *retry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	spent := []*spending{r.of(newBudget(call, ""))}
	room := spent[0].n < most
	if again != nil {
		s := r.of(newBudget(call, again.key()))
		spent = append(spent, s)
		room = room && s.n < again.attempts()
	}
	if !room {
		return false
	}
	for _, s := range spent {
		s.n++
	}
	return true
}

func (r *revisions) of(b budget) *spending {
	if e, ok := r.count[b]; ok {
		r.order.MoveToFront(e)
		return e.Value.(*spending)
	}
	if r.order.Len() >= maxBudgets {
		oldest := r.order.Back()
		delete(r.count, r.order.Remove(oldest).(*spending).budget)
	}
	s := &spending{budget: b}
	r.count[b] = r.order.PushFront(s)
	return s
}
