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
		var all threads
		clients := map[byte]*gotUpdates{'a': new(gotUpdates), 'b': new(gotUpdates)}
		for _, c := range clients {
			all.gotAllUpdates(c, "t")
		}
		var isNew []string
		for _, step := range strings.Fields(test.got) {
			if all.isNewUpdateLocked(clients[step[0]], "t", []byte(step[1:])) {
				isNew = append(isNew, step[1:])
			}
		}
		if got := strings.Join(isNew, " "); got != test.want {
			t.Errorf("%s: %s, want %s", test.got, got, test.want)
		}
	}
	// A client that is too slow gets what it has missed as new.
	var all threads
	fast, slow := new(gotUpdates), new(gotUpdates)
	all.gotAllUpdates(slow, "t")
	for i := range maxUpdates + 1 {
		all.isNewUpdateLocked(fast, "t", []byte{byte(i)})
	}
	if !all.isNewUpdateLocked(slow, "t", []byte{0}) || !all.isNewUpdateLocked(slow, "t", []byte{1}) {
		t.Error("a report that is no longer known is taken for an old one")
	}
}
