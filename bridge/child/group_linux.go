//go:build !portable

package child

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is a child with its descendants: its process group, and those that have left the
// group.
type group struct{ marked string }

func (*group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func (*group) started(*exec.Cmd) {}

// prepareSentry must be called before the child is started.
func (*group) prepareSentry() { ensureSentry() }

// watch has the sentry kill the group if the bridge is killed.
func (g *group) watch(cmd *exec.Cmd) { watch(cmd.Process.Pid, g.marked) }

// wait waits for the child to end, and does not touch its descendants.
func (*group) wait(cmd *exec.Cmd) error {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	unwatch(cmd.Process.Pid)
	return Wait(cmd)
}

func (*group) kill(cmd *exec.Cmd) {
	strays := Descendants(cmd.Process.Pid)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Process.Kill()
	for _, pid := range strays {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// waitAndKill waits for the child to end and kills its descendants. Another process may have
// killed the child, so its descendants are found by their mark.
func (g *group) waitAndKill(cmd *exec.Cmd) { _ = g.waitSettleAndKill(cmd, func() {}) }

// mark adds a variable to the child's environment, by which its orphans are found.
func (g *group) mark(env []string) []string {
	g.marked = newMark()
	return append(env, g.marked)
}

func newMark() string { return MarkName + "=" + rand.Text() }

// MarkForEnd returns the environment for a child whose descendants are killed if the bridge is killed,
// unless they have cleared their environment. It must be called after [PrepareEndWithParent]. The caller
// calls done when the child has ended.
func MarkForEnd(env []string) (marked []string, done func()) {
	mark := newMark()
	writeSentry("+ " + mark + " " + mark)
	return append(slices.Clip(env), mark), func() { writeSentry("- " + mark) }
}

// waitSettleAndKill waits for the child to end, calls settle, and kills its descendants before
// the child is reaped. Processes that have left the group are children of the bridge by now, if
// it is the reaper of orphans; they are found by their environment.
func (g *group) waitSettleAndKill(cmd *exec.Cmd, settle func()) error {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	settle()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	killOrphans(g.marked)
	unwatch(cmd.Process.Pid)
	return Wait(cmd)
}

// terminate sends SIGTERM to the group. It reports whether the system can do that.
func (*group) terminate(cmd *exec.Cmd) bool {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	return true
}

func (*group) release() {}

// strays are the descendants of a child, with their start times: a process id may be reused.
// They can't be found after the child has ended.
type strays map[int]string

func (*group) strays(cmd *exec.Cmd, exited <-chan struct{}) strays {
	select {
	case <-exited:
		return nil
	default:
	}
	s := strays{}
	for _, pid := range Descendants(cmd.Process.Pid) {
		s[pid] = startTime(pid)
	}
	return s
}

func (s strays) kill() {
	for pid, began := range s {
		if began != "" && startTime(pid) == began {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// startTime returns when a process was started, in clock ticks as the kernel writes it, or "".
func startTime(pid int) string {
	const starttime = 22 - 3 // field number in proc(5), counted after the name
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= starttime {
		return ""
	}
	return string(fields[starttime])
}
