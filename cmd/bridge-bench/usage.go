//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what a process has used, all its threads, user and system, without
// its children; by the clock that the kernel keeps for each process, since the
// ticks of /proc/PID/stat are 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &ts); err != nil {
		return 0, fmt.Errorf("the processor time of a process: %w", err)
	}
	return time.Duration(ts.Nano()), nil
}

// memory is a line of /proc/PID/status, in bytes.
func memory(pid int, field string) (int64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(status, []byte(field))
	words := strings.Fields(string(rest))
	if !ok || len(words) == 0 {
		return 0, fmt.Errorf("no %s in a process's status", field)
	}
	kib, err := strconv.ParseInt(words[0], 10, 64)
	return kib << 10, err
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
func mib(n int64) float64              { return float64(n) / (1 << 20) }
func ms(d time.Duration) float64       { return float64(d) / float64(time.Millisecond) }

// perCall is the processor time of one call of f, in ns. The clock on the wall
// would measure the neighbours, too. f must not fail; what it does was tried.
func perCall(f func()) (float64, error) {
	for n := 1; ; n *= 2 {
		before, err := cpuTime(os.Getpid())
		if err != nil {
			return 0, err
		}
		for range n {
			f()
		}
		after, err := cpuTime(os.Getpid())
		if err != nil {
			return 0, err
		}
		if took := after - before; took > 50*time.Millisecond {
			return float64(took) / float64(n), nil
		}
	}
}
