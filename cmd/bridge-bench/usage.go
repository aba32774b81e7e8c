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

// cpuTime returns the user and system time of a process with all threads, without its children. It
// uses the clock of the process, because /proc/PID/stat counts in units of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &ts); err != nil {
		return 0, fmt.Errorf("the processor time of a process: %w", err)
	}
	return time.Duration(ts.Nano()), nil
}

// memory returns the value of a line of /proc/PID/status, in bytes.
func memory(pid int, field string) (int64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(status, []byte(field))
	words := strings.Fields(string(rest))
	if !ok || len(words) == 0 {
		return 0, fmt.Errorf("the status of the process has no %s", field)
	}
	kib, err := strconv.ParseInt(words[0], 10, 64)
	return kib << 10, err
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
func mib(n int64) float64              { return float64(n) / (1 << 20) }
func ms(d time.Duration) float64       { return float64(d) / float64(time.Millisecond) }

// perCall returns the processor time of one call of f, in ns. The wall clock would include other
// processes. f must not fail.
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
