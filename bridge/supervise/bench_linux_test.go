//go:build !portable && (amd64 || arm64)

package supervise

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BenchmarkStart starts programs one after the other: without a supervisor, below one as programs of Codex itself, as
// programs of a command, and as ones of a command that do not exist. An operation is one start. Its time depends on the
// load of the machine; cpu-µs/op, the processor time of the supervisor, depends on that little.
func BenchmarkStart(b *testing.B) {
	for _, kind := range []string{"alone", "own", "command", "missing"} {
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			self, err := os.Executable()
			if err != nil {
				b.Fatal(err)
			}
			program := "/bin/true"
			if kind == "missing" {
				program = "/usr/local/bin/missing"
			}
			line := fmt.Sprintf("%s %s starts %d %s", self, helperWord, b.N, program)
			s := New(Options{Required: true, Decide: func(context.Context, Start) bool { return true }})
			if kind == "command" || kind == "missing" {
				s.Announce(call(line))
			}
			cmd := exec.Command("/bin/bash", "-c", `bash -c "$LINE"; exit`)
			cmd.Env, cmd.Stderr = append(os.Environ(), "LINE="+line), os.Stderr
			start := func() error { return s.Start(cmd, (*exec.Cmd).Start) }
			if kind == "alone" {
				start = cmd.Start
			}
			var out strings.Builder
			cmd.Stdout = &out
			before := processorTime(b)
			if err := start(); err != nil {
				b.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/1e3, "cpu-µs/op")
			p50, err := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(p50, "p50-µs/op")
		})
	}
}

// processorTime returns the time that this process has had.
func processorTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// starts starts a program some times, and writes the median time in µs. The program may be missing.
func starts(a []string) {
	runtime.UnlockOSThread()
	n, err := strconv.Atoi(a[0])
	fail(err)
	path, err := unix.BytePtrFromString(a[1])
	fail(err)
	argv, err := syscall.SlicePtrFromStrings([]string{"true", "one", "two"})
	fail(err)
	_, missing := os.Stat(a[1])
	took := make([]time.Duration, n)
	for i := range took {
		begin := time.Now()
		if missing != nil {
			_, _, _ = unix.Syscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])), 0)
		} else {
			p, err := os.StartProcess(a[1], []string{"true", "one", "two"}, &os.ProcAttr{Env: os.Environ()})
			fail(err)
			_, err = p.Wait()
			fail(err)
		}
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	fmt.Println(float64(took[n/2]) / 1e3)
}
