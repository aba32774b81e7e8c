package guard

import (
	"strings"
	"testing"
)

// Reports of a thread's settings, in the order in which the clients a and b get them.
func TestNewUpdates(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{"a1 a2 b1 b2", "1 2"},
		{"a1 b1 b2 a2", "1 2"},
		{"a1 a2 a1 b1 b2 b1", "1 2 1"},
		{"a1 a1 b1 b1", "1 1"},
		{"a1 b2", "1 2"},              // b has come later, or missed one
		{"a1 a2 b2 a3 b3", "1 2 2 3"}, // b missed one: its report may be new
	} {
		var all settingsUpdates
		clients := map[byte]*Guard{'a': new(Guard), 'b': new(Guard)}
		for _, c := range clients {
			all.gotAll(c)
		}
		var isNew []string
		for _, step := range strings.Fields(test.got) {
			if all.isNew(clients[step[0]], []byte(step[1:])) {
				isNew = append(isNew, step[1:])
			}
		}
		if got := strings.Join(isNew, " "); got != test.want {
			t.Errorf("%s: %s, want %s", test.got, got, test.want)
		}
	}
	// A client that is too slow gets what it has missed as new.
	var all settingsUpdates
	fast, slow := new(Guard), new(Guard)
	all.gotAll(slow)
	for i := range maxUpdates + 1 {
		all.isNew(fast, []byte{byte(i)})
	}
	if !all.isNew(slow, []byte{0}) || !all.isNew(slow, []byte{1}) {
		t.Error("a report that is no longer known is taken for an old one")
	}
}

// A client that has left is forgotten with what it has got.
func TestLeavingClientIsForgotten(t *testing.T) {
	w := newAgentWorld(t, nil)
	other := w.g.Join(NoRecord, w.g.log)
	for _, client := range []*Guard{w.g, other} {
		w.g.threads.recordLocked("t").updates.gotAll(client)
	}
	other.Leave(nil)
	if got := w.g.threads.records["t"].updates.got; len(got) != 1 {
		t.Errorf("%d clients are known", len(got))
	}
}
