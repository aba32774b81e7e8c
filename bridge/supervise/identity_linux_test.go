//go:build !portable && (amd64 || arm64)

package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"syscall"
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

// A process that is known by a kept descriptor is asked for again: it has another parent, or has ended.
func TestMembersAreAskedAgain(t *testing.T) {
	t.Parallel()
	var all members
	defer all.close()
	child := exec.Command("/bin/sh", "-c", "sleep 1000 & echo $!; read x")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var grandchild int
	if _, err := fmt.Fscan(out, &grandchild); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(grandchild, syscall.SIGKILL) }()
	first, ok := all.of(grandchild)
	again, okAgain := all.of(grandchild)
	if !ok || !okAgain || first != again || first.parent != child.Process.Pid {
		t.Errorf("%v %v, again %v %v, want the parent %d", first, ok, again, okAgain, child.Process.Pid)
	}
	if m, ok := all.of(child.Process.Pid); !ok || m.parent != os.Getpid() {
		t.Errorf("%v %v", m, ok)
	}
	_ = in.Close()
	_ = child.Wait() // its input ended
	if m, ok := all.of(grandchild); !ok || m.began != first.began || m.parent == first.parent {
		t.Errorf("its parent has ended: %v %v, before %v", m, ok, first)
	}
	if m, ok := all.of(child.Process.Pid); ok {
		t.Errorf("a process that has ended is %v", m)
	}
}
