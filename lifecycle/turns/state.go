package turns

import (
	"cmp"
	"slices"
)

// State is what bridge/status shows.
type State struct {
	Running int      `json:"running"` // threads in which a turn runs
	InLine  int      `json:"inLine"`  // requests for a turn that are not over
	Waiting int      `json:"waiting"` // messages that wait for a turn
	Threads []Thread `json:"threads"` // those of which there is more to say
}

// Thread is one thread of State.
type Thread struct {
	ID      string    `json:"threadId"`
	Turn    string    `json:"turnId,omitempty"` // that runs
	Waiting int       `json:"waiting,omitempty"`
	Next    *settings `json:"next,omitempty"` // what the next turn is to have
}

// State is what is so now.
func (f *Feature) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := State{InLine: f.runner.Len(), Threads: []Thread{}}
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
			next := c.next
			t.Next = &next
		}
		if t.Turn != "" || t.Waiting > 0 || t.Next != nil {
			s.Threads = append(s.Threads, t)
		}
	}
	slices.SortFunc(s.Threads, func(a, b Thread) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

// Running returns the turn that runs in a thread and takes input: "" for none, and for a
// review or a compaction, which Codex names in two ways.
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
