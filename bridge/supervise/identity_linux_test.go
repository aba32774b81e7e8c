//go:build !portable && (amd64 || arm64)

package supervise

import (
	"fmt"
	"os"
	"reflect"
	"testing"
)

// A process is the same by its descriptor as by its files in /proc; threads are of their process.
func TestMemberOf(t *testing.T) {
	t.Parallel()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		var id int
		if _, err := fmt.Sscan(thread.Name(), &id); err != nil {
			t.Fatal(err)
		}
		named, ok := memberByName(id)
		if want := (member{os.Getpid(), os.Getppid(), named.began}); !ok || !reflect.DeepEqual(named, want) || named.began == 0 {
			t.Errorf("thread %d: %v, %v by name, want %v", id, named, ok, want)
		}
		if !hasInfo() {
			continue
		}
		described, ok := memberOf(id)
		if want := (member{os.Getpid(), os.Getppid(), described.began}); !ok || !reflect.DeepEqual(described, want) || described.began == 0 {
			t.Errorf("thread %d: %v, %v by its descriptor, want %v", id, described, ok, want)
		}
	}
	if m, ok := memberOf(1 << 30); ok {
		t.Errorf("a process that does not exist is %v", m)
	}
}
