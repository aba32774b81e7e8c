//go:build linux && amd64

package main

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// root is the repository's.
const root = "../.."

// walks is a program of which is known what there is to count. One is enough for all tests.
var walks = sync.OnceValues(func() (*program, error) {
	version, err := goAtHand(root)
	if err != nil {
		return nil, err
	}
	return build(root, temp, version, "./cmd/bridge-steps/testdata/walks")
})

func counts(t *testing.T, name string) count {
	t.Helper()
	p, err := walks()
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.count(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// own is how many instructions of a function were counted.
func (c count) own(name string) (n int64) {
	for f, t := range c {
		if f.name == name {
			n += t.own
		}
	}
	return n
}

func TestCountIsExact(t *testing.T) {
	nothing, once, twice := counts(t, "nothing").steps(), counts(t, "1000 rounds").steps(), counts(t, "2000 rounds").steps()
	if nothing <= 0 || nothing > 50 {
		t.Errorf("nothing takes %d steps", nothing)
	}
	if each := (twice - once) / 1000; each < 4 || (twice-once)%1000 != 0 || once-1000*each > nothing+50 {
		t.Errorf("1000 rounds take %d steps, 2000 %d", once, twice)
	}
	// In so many steps the runtime has the walk give way some times.
	if got, want := counts(t, "10000 rounds").steps(), once+9*(twice-once); got != want {
		t.Errorf("10000 rounds take %d steps, not %d", got, want)
	}
}

func TestCopiedBytesCount(t *testing.T) {
	few, many := counts(t, "copy 64 KiB").steps(), counts(t, "copy 1 MiB").steps()
	if got, want := many-few, int64((1<<20-64<<10)/perBytes); got < want-20 || got > want+20 {
		t.Errorf("960 KiB more take %d steps more, not %d", got, want)
	}
}

func TestAllocationsCount(t *testing.T) {
	few, many := counts(t, "10 allocations").steps(), counts(t, "110 allocations").steps()
	if each := (many - few) / 100; each < perCall || each > perCall+30 {
		t.Errorf("an allocation takes %d steps", each)
	}
}

// What the runtime calls is counted like what calls it.
func TestCalledByTheRuntime(t *testing.T) {
	once := counts(t, "called").own("main.round")
	if once < 100 {
		t.Fatalf("100 rounds take %d instructions", once)
	}
	for name, times := range map[string]int64{"deferred": 3, "reflected": 1} {
		if got := counts(t, name).own("main.round"); got != times*once {
			t.Errorf("%s: %d instructions, not %d", name, got, times*once)
		}
	}
}

func TestWaitingIsNotCounted(t *testing.T) {
	if n := counts(t, "asleep").steps(); n > 500 {
		t.Errorf("%d steps", n)
	}
}

func TestSignalsFromOutside(t *testing.T) {
	if got, want := counts(t, "signalled").own("main.round"), counts(t, "called").own("main.round"); got != want {
		t.Errorf("%d instructions, not %d", got, want)
	}
}

func TestWalksThatDoNotEnd(t *testing.T) {
	p, err := walks()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"gone": "ended", "lost": "lost", "unknown": "segmentation fault"} {
		if _, err := p.count(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where ptrace is forbidden nothing is skipped.
func TestRefused(t *testing.T) {
	forbidden := &os.PathError{Op: "fork/exec", Path: "paths", Err: syscall.EPERM}
	if err := refused(forbidden); !errors.Is(err, syscall.EPERM) || !strings.Contains(err.Error(), "ptrace is not allowed here") {
		t.Error(err)
	}
	missing := &os.PathError{Op: "fork/exec", Path: "paths", Err: syscall.ENOENT}
	if err := refused(missing); !errors.Is(err, missing) || strings.Contains(err.Error(), "ptrace") {
		t.Error(err)
	}
}
