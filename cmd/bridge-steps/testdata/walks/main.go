// Command walks has paths whose counts can be told beforehand, by each other.
package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"syscall"
	"time"
)

func init() { runtime.LockOSThread() }

var (
	sum  int
	from = make([]byte, 1<<20)
	to   = make([]byte, 1<<20)
	kept []*[64]byte
	all  = map[string]func(){
		"nothing":         func() {},
		"1000 rounds":     func() { rounds(1000) },
		"2000 rounds":     func() { rounds(2000) },
		"10000 rounds":    func() { rounds(10000) },
		"copy 64 KiB":     func() { copy(to, from[:64<<10]) },
		"copy 1 MiB":      func() { copy(to, from) },
		"10 allocations":  func() { allocate(10) },
		"110 allocations": func() { allocate(110) },
		"called":          called,
		"deferred":        deferred,
		"reflected":       reflected,
		"signalled":       func() { signal(); called() },
		"gone":            func() { os.Exit(0) },
		"lost":            func() { panic("lost") },
		"asleep":          func() { time.Sleep(time.Millisecond) },
	}
	method = reflect.ValueOf(called)
)

//go:noinline
func round(i int) { sum += i }

func rounds(n int) {
	for i := range n {
		round(i)
	}
}

func allocate(n int) {
	kept = kept[:0]
	for range n {
		kept = append(kept, new([64]byte))
	}
}

//go:noinline
func called() { rounds(100) }

// deferred has the runtime call called: defers in a loop are kept in a list.
func deferred() {
	for range 3 {
		defer called()
	}
}

func reflected() { method.Call(nil) }

// signal is what comes from outside: here, for certain.
func signal() {
	pid := uintptr(os.Getpid())
	if _, _, err := syscall.RawSyscall(syscall.SYS_TGKILL, pid, pid, uintptr(syscall.SIGWINCH)); err != 0 {
		panic(err)
	}
}

func main() {
	if len(os.Args) == 1 {
		for name := range all {
			fmt.Printf("%s\t1\ttime\n", name)
		}
		return
	}
	kept = make([]*[64]byte, 0, 1000)
	walk, name := all[os.Args[1]], os.Args[1]
	if name != "gone" && name != "lost" {
		walk()
	}
	runtime.Breakpoint()
	walk()
	runtime.Breakpoint()
	runtime.KeepAlive(sum)
}
