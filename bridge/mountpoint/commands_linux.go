package mountpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"codex-bridge.example/bridge/child"
)

// startsCommand reports whether a descendant of this process runs in a sandbox, or may be about to: it is a copy of
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
	name, _ := os.ReadFile(process + "/comm")
	at, err := os.Readlink(process + "/ns/mnt")
	if err == nil && at != namespace || filepath.Base(program) == "bwrap" || string(name) == "bwrap\n" || strings.HasPrefix(string(name), "codex-linux-san") { // of 15 letters
		return true
	}
	parent := parentOf(process)
	if parent == bridge {
		return false // Codex itself, or another program of the bridge
	}
	its, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(parent), "exe"))
	return err == nil && its == program && strings.HasPrefix(filepath.Base(program), "codex")
}

// parentOf returns the id of a process's parent; 0 if it has ended.
func parentOf(process string) int {
	text, err := os.ReadFile(process + "/stat")
	if err != nil {
		return 0
	}
	// the name, which may hold anything, is in parentheses
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
