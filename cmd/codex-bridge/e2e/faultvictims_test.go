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

	"codex-bridge.example/bridge/child"
)

// target is a process that is killed with kill -9.
type target struct {
	name string
	// is reports whether a process belongs to the target; nil: see kill.
	is   func(program string, words []string) bool
	kill func(c *conversation) bool // reports whether a process was killed
	// at are the stages at which it runs; nil: all. often are those of CI; nil: as at.
	at, often []string
	before    func(c *conversation) // starts it if the stage does not
	goesOn    bool                  // the conversation survives
}

var victims = []target{
	{name: "client", kill: func(c *conversation) bool { // closes its ends of both pipes
		c.CloseInput()
		return c.CloseOutput() == nil
	}},
	{name: "bridge", kill: func(c *conversation) bool { return c.Process.Kill() == nil }},
	// The bridge also runs codex --version, which is not the server.
	{name: "codex", is: func(program string, words []string) bool {
		return program == codexPath && slices.Contains(words, "app-server")
	}},
	{name: "hook", kill: func(c *conversation) bool { return killAll(c.hookProcesses()) }, at: []string{"hook in flight"}, goesOn: true},
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

// appliesTo reports whether the target runs at a stage and is tested there: with several seeds, all
// combinations are.
func (v target) appliesTo(s stage, wide bool) bool {
	if v.before != nil && s.name == "before initialize" {
		return false // it starts later
	}
	at := v.at
	if v.often != nil && !wide {
		at = v.often
	}
	return at == nil || slices.Contains(at, s.name)
}

// killProcesses kills the target's processes; false: there were none.
func (v target) killProcesses(c *conversation) bool {
	if v.kill != nil {
		return v.kill(c)
	}
	pids := v.processes(c)
	for ; len(pids) == 0 && !hasEnded(c.Process.Pid); pids = v.processes(c) { // it is starting
		time.Sleep(5 * time.Millisecond)
	}
	killAll(pids) // none: it ended before
	return true
}

// processes returns the target's processes, which the bridge started.
func (v target) processes(c *conversation) []int {
	return slices.DeleteFunc(child.Children(c.Process.Pid), func(pid int) bool {
		folder := filepath.Join("/proc", strconv.Itoa(pid))
		program, err := os.Readlink(filepath.Join(folder, "exe"))
		line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		return err != nil || !v.is(program, strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"))
	})
}

// hasEnded reports whether a process has ended or is a zombie.
func hasEnded(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err != nil || len(line) == 0
}

func killAll(pids []int) bool {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	return len(pids) > 0
}
