package turns

import (
	"cmp"
	"slices"
)

// State is the part of bridge/status about turns.
type State struct {
	Running int      `json:"running"` // threads with a running turn
	InLine  int      `json:"inLine"`  // requests for a turn that wait or run
	Waiting int      `json:"waiting"` // messages that wait for a turn
	Threads []Thread `json:"threads"` // with a turn, waiting messages or settings
}

// Thread is one thread of State.
type Thread struct {
	ID      string             `json:"threadId"`
	Turn    string             `json:"turnId,omitempty"` // the running turn
	Waiting int                `json:"waiting,omitempty"`
	Next    *effectiveSettings `json:"next,omitempty"` // settings for the next turn
}

// State returns the current state.
func (f *Feature) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := State{InLine: f.runs.Len(), Threads: []Thread{}}
	for id, c := range f.open {
		t := Thread{ID: id}
		if t.Turn, _ = c.thread.Turn(); t.Turn != "" {
			s.Running++
		}
		if c.inbox != nil {
			t.Waiting = c.inbox.Waiting()
			s.Waiting += t.Waiting
		}
		if c.next != (settings{}) {
			t.Next = c.next.effective()
		}
		if t.Turn != "" || t.Waiting > 0 || t.Next != nil {
			s.Threads = append(s.Threads, t)
		}
	}
	slices.SortFunc(s.Threads, func(a, b Thread) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

// Running returns the running turn of a thread that takes input, or "".
func (f *Feature) Running(thread string) string {
	f.mu.Lock()
	c := f.open[thread]
	f.mu.Unlock()
	if c == nil {
		return ""
	}
	if turn, open := c.thread.Turn(); open {
		return turn
	}
	return ""
}
