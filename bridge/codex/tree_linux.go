//go:build !portable

package codex

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/child"
)

var terminate os.Signal = syscall.SIGTERM

// pipeSize is the size for F_SETPIPE_SZ: the default maximum of an unprivileged process.
// Measured relative to cat: 0.9 times its time with Codex's pipe alone, 0.75 with the client's,
// too.
const pipeSize = 1 << 20

// GrowPipe enlarges a pipe. It does nothing to a socketpair, which Node gives its children, or
// beyond the user's quota for pipes.
func GrowPipe(f *os.File) {
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}

// stdoutPipe returns a pipe for Codex's stdout. The bridge's end blocks a thread instead of using
// Go's poller. That saves 2 µs for each message, and a tenth of time and processor time for a
// stream (measured). But closing this end does not wake a reader; it is closed only when the
// bridge exits.
func stdoutPipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	return os.NewFile(uintptr(fds[0]), "codex's stdout"), os.NewFile(uintptr(fds[1]), "codex's stdout"), nil
}

// tree is Codex with its descendants. The bridge becomes the reaper of orphans, so that a command
// whose Codex was killed becomes its child and can be found.
type tree struct{ unmark, unwatch func() }

// prepare must be called when the environment of cmd is set.
//
// If the bridge is killed, Codex gets an end of input and the death signal. That is SIGTERM, since on
// SIGKILL Codex would leave its commands behind. It does not suffice (measured with Codex 0.169): a Codex
// that listens on a port may wait for running turns, and a command that is just being started in the
// sandbox may outlive Codex. So the sentry ends the rest.
func (t *tree) prepare(cmd *exec.Cmd) {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	child.PrepareEndWithParent()
	t.unwatch = func() {}
	cmd.Env, t.unmark = child.MarkForEnd(cmd.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func (t *tree) started(cmd *exec.Cmd) { t.unwatch = child.EndWithParent(cmd.Process.Pid) }

// ended must be called when Codex has ended, or has not started.
func (t *tree) ended() {
	t.unmark()
	t.unwatch()
}

// endWithParent makes a Codex on the terminal end when the bridge is killed. Measured with Codex
// 0.169: it would try for minutes to reach the bridge, and write on the terminal of the shell. The
// caller calls started after the start, and ended after the end.
func endWithParent(cmd *exec.Cmd) (started func() (ended func())) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return func() func() { return func() {} }
}

// kill kills all descendants of the bridge, except for the sentry.
func (*tree) kill(*exec.Cmd) { child.KillDescendants(0) }

// killOrphans does the same after Codex was killed. Measured with Codex 0.169 and 0.171: then its sandbox ends the command,
// and removes the empty folders in which it has mounted something. A sandbox that is killed leaves them.
func (*tree) killOrphans(*exec.Cmd) { child.KillDescendants(sandboxGrace) }

// endSandboxes kills the sandboxes that hang after Codex has ended.
func endSandboxes() { child.EndSandboxes(sandboxGrace) }

// sandboxGrace is the time for that. It takes a few milliseconds if the machine is idle.
const sandboxGrace = 500 * time.Millisecond
