//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"codex-bridge/bridge/child"
)

// party is who is killed, with kill -9 and nothing else.
type party struct {
	name string
	// is tells whether a process is the victim; nil: see kill.
	is   func(program string, words []string) bool
	kill func(c *conversation) bool // tells whether there was somebody to kill
	// at are the stages at which it is there; nil: all. often are those of CI; nil: the same.
	at, often []string
	before    func(c *conversation) // what the stage does not do by itself to have it there
	goesOn    bool                  // the conversation outlives it
}

var victims = []party{
	{name: "client", kill: func(c *conversation) bool { // its ends of both pipes close
		c.CloseInput()
		return c.CloseOutput() == nil
	}},
	{name: "bridge", kill: func(c *conversation) bool { return c.Process.Kill() == nil }},
	// The bridge also runs codex --version, which is not the server.
	{name: "codex", is: func(program string, words []string) bool {
		return program == codexPath && slices.Contains(words, "app-server")
	}},
	{name: "hook", kill: func(c *conversation) bool { return killed(c.relays()) }, at: []string{"hook in flight"}, goesOn: true},
	{
		name: "tool", is: func(program string, words []string) bool {
			return filepath.Base(words[0]) == "sh" && len(words) == 3 && strings.Contains(words[2], "setsid sleep")
		},
		at: []string{"tool call pending"}, goesOn: true,
	},
	{
		name: "tool server", is: func(program string, _ []string) bool {
			self, err := os.Executable()
			return err == nil && program == self
		},
		often: []string{"before initialize", "thread/start sent", "server call pending", "shutdown"}, goesOn: true,
	},
	{
		name: "agent", is: func(_ string, words []string) bool {
			return slices.Contains(words, acpAgent)
		},
		often: []string{"agent running"}, goesOn: true,
		before: (*conversation).faultAgent,
	},
}

// meets tells whether the victim is there at a stage, and tried there: with more seeds than
// one everything is.
func (v party) meets(s stage, wide bool) bool {
	if v.before != nil && s.name == "before initialize" {
		return false // it is there later
	}
	at := v.at
	if v.often != nil && !wide {
		at = v.often
	}
	return at == nil || slices.Contains(at, s.name)
}

// dies kills the victim; false: it is not there.
func (v party) dies(c *conversation) bool {
	if v.kill != nil {
		return v.kill(c)
	}
	pids := v.of(c)
	for ; len(pids) == 0 && !ended(c.Process.Pid); pids = v.of(c) { // it is being started
		time.Sleep(5 * time.Millisecond)
	}
	killed(pids) // none: it was faster
	return true
}

// of are the victim's processes: the bridge has started it.
func (v party) of(c *conversation) []int {
	return slices.DeleteFunc(child.Children(c.Process.Pid), func(pid int) bool {
		folder := filepath.Join("/proc", strconv.Itoa(pid))
		program, err := os.Readlink(filepath.Join(folder, "exe"))
		line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		return err != nil || !v.is(program, strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"))
	})
}

// ended tells whether a process is gone, or a zombie.
func ended(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err != nil || len(line) == 0
}

func killed(pids []int) bool {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	return len(pids) > 0
}
