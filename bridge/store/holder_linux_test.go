package store

import (
	"strings"
	"testing"
)

// Machines from one image have equal host names and process ids in equal namespaces. Their names
// must differ: otherwise one takes leases of the other for those of ended processes.
func TestMachineNamesDiffer(t *testing.T) {
	one, other := machineName("build", "0123", "pid:[1]"), machineName("build", "4567", "pid:[1]")
	if one == other || strings.Contains(one, "0123") {
		t.Errorf("%s, %s", one, other)
	}
	if got := machineName("build", "", "pid:[1]"); got != "build/pid:[1]" {
		t.Errorf("without an id: %s", got)
	}
}
