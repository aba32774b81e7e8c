package codex

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"codex-bridge/bridge/child"
)

var terminate os.Signal = syscall.SIGTERM

// pipeSize is what F_SETPIPE_SZ is asked for: the most an unprivileged process
// may have by default. Measured against cat: 0.9 times its time with codex's pipe
// alone, 0.75 with the client's, too.
const pipeSize = 1 << 20

// Widen makes a pipe larger. On a socketpair, which Node gives its children, and
// over the user's pipe quota it fails, and that does no harm.
func GrowPipe(f *os.File) {
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}

// stdoutPipe is a pipe for codex's stdout. Our end blocks, in a thread of its own,
// instead of waiting in Go's poller: that is 2 µs less for each message, and a
// tenth less time and processor time for a stream of them (measured). The price:
// closing it does not wake who reads; that happens only at our own end.
func stdoutPipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	return os.NewFile(uintptr(fds[0]), "codex's stdout"), os.NewFile(uintptr(fds[1]), "codex's stdout"), nil
}

// tree is codex and what it started. We are made the reaper of orphans, so that
// a command whose codex was killed becomes our child, and can be found.
type tree struct{}

func (*tree) prepare(cmd *exec.Cmd) {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	// When we are killed, codex gets an end of input and the death signal.
	// SIGTERM, since with SIGKILL it would leave its commands behind (measured).
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func (*tree) started(*exec.Cmd) {}

// kill kills all our descendants. One that forks meanwhile is found in the next
// round; the rounds are bounded, since a process that can't be killed may stay.
func (*tree) kill(cmd *exec.Cmd) {
	for range 50 {
		pids := child.Descendants(os.Getpid())
		left := false
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
			if pid != cmd.Process.Pid { // os/exec waits for that one
				var status unix.WaitStatus
				if got, _ := unix.Wait4(pid, &status, unix.WNOHANG, nil); got != pid {
					left = true
				}
			}
		}
		if !left {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
