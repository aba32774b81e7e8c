package mountpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/child"
)

// startTime bounds the time in which a sandbox makes its mounts. Those of an older one are found.
const startTime = time.Minute

// startsCommand reports whether a young descendant of this process runs in a sandbox, or may be about to: it is a copy of
// Codex that Codex has just made, Codex's program for the sandbox, or bwrap. Each of them may mount something soon.
func startsCommand() bool {
	own := os.Getpid()
	namespace, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return true
	}
	for _, pid := range child.Descendants(own) {
		if startsSandbox(pid, own, namespace) {
			return true
		}
	}
	return false
}

// startsSandbox reports whether a process runs in a sandbox or may be about to. It is false for one that has ended.
//
// Measured with Codex 0.169 and 0.171: Codex starts itself under the name codex-linux-sandbox, and that starts bwrap.
func startsSandbox(pid, bridge int, namespace string) bool {
	process := filepath.Join("/proc", strconv.Itoa(pid))
	program, err := os.Readlink(process + "/exe")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false // it has ended
	case err != nil:
		return true
	}
	parent, age := readStat(process)
	if age > startTime {
		return false
	}
	name, _ := os.ReadFile(process + "/comm")
	at, err := os.Readlink(process + "/ns/mnt")
	if err == nil && at != namespace || filepath.Base(program) == "bwrap" || string(name) == "bwrap\n" || strings.HasPrefix(string(name), "codex-linux-san") { // of 15 letters
		return true
	}
	if parent == bridge {
		return false // Codex itself, or another program of the bridge
	}
	its, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(parent), "exe"))
	return err == nil && its == program && strings.HasPrefix(filepath.Base(program), "codex")
}

// ticks is the number of clock ticks in a second, in which proc(5) gives times to all programs.
const ticks = 100

// readStat returns the id of a process's parent and its age; 0 if they are unknown.
func readStat(process string) (parent int, age time.Duration) {
	text, err := os.ReadFile(process + "/stat")
	var now unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0, 0
	}
	// the name, which may hold anything, is in parentheses
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	if started, err := strconv.ParseInt(fields[19], 10, 64); err == nil {
		age = time.Duration(now.Nano()) - time.Duration(started)*time.Second/ticks
	}
	return parent, age
}
