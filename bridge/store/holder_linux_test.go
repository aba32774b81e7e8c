package store_test

import (
	"strings"
	"testing"

	"codex-bridge/bridge/store"
)

// Machines that were set up alike have one name, and process ids of the same namespace: what
// one of them holds must not look like a process that has ended to the other.
func TestMachines(t *testing.T) {
	one, other := store.Machine("build", "0123", "pid:[1]"), store.Machine("build", "4567", "pid:[1]")
	if one == other || strings.Contains(one, "0123") {
		t.Errorf("%s, %s", one, other)
	}
	if got := store.Machine("build", "", "pid:[1]"); got != "build/pid:[1]" {
		t.Errorf("without an id: %s", got)
	}
}
