package child

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is a child and what it started: its process group, and on Linux also those
// that have left the group.
type group struct{ marked string }

func (*group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func (*group) started(*exec.Cmd) {}

// expected is called before the child is started that will be watched.
func (*group) prepareSentry() { ensureSentry() }

// watched has the group end with us even when we are killed.
func (g *group) watch(cmd *exec.Cmd) { watch(cmd.Process.Pid, g.marked) }

// ended waits for the child's end, and lets what it left be.
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

// wait waits for the child's end and kills what it left, as alone does: somebody else may
// have killed it, and then nobody else knows what it had started.
func (g *group) waitAndKill(cmd *exec.Cmd) { _ = g.waitSettleAndKill(cmd, func() {}) }

// mark adds to a child's environment what its orphans are known by.
func (g *group) mark(env []string) []string {
	g.marked = "CODEX_BRIDGE_CHILD=" + rand.Text()
	return append(env, g.marked)
}

// alone waits for the child's end, settles, and kills what it left, before the child is
// reaped. What has left the group was handed to us when the child ended, if we are the
// reaper of orphans, and is known by its environment.
func (g *group) waitSettleAndKill(cmd *exec.Cmd, settle func()) error {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	settle()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	killOrphans(g.marked)
	unwatch(cmd.Process.Pid)
	return Wait(cmd)
}

// terminate asks the group to end; it tells whether that can be done here.
func (*group) terminate(cmd *exec.Cmd) bool {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	return true
}

func (*group) release() {}

// strays are what a child has started, by number and time of start, so that another
// process that has got the number meanwhile is not taken for it. They can't be found
// any more when the child has ended.
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

// since is when a process was started, in the kernel's own words; "" there is none.
func startTime(pid int) string {
	const starttime = 22 - 3 // in proc(5), counted from the field after the name
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
