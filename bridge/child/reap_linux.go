//go:build !portable

package child

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// reaper reaps orphans, which are children of the bridge on Linux, so that they do not stay
// zombies. It leaves children of Start to os/exec. It would also reap a child that was
// started in another way, whose Wait then fails. So it does nothing in a process that gets no
// orphans, such as one of tests.
var reaper struct {
	mu     sync.Mutex
	own    map[int]bool
	adopts bool // orphans become children of this process
	once   sync.Once
}

// AdoptOrphans makes this process the parent and the reaper of orphans among its descendants.
func AdoptOrphans() {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	reaper.adopts = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// Start starts cmd. The reaper does not touch it until Wait has returned.
func Start(cmd *exec.Cmd) error {
	reaper.once.Do(func() {
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGCHLD)
		go func() { // lives as long as the process
			for range ended {
				reap()
			}
		}()
	})
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if reaper.own == nil {
		reaper.own = make(map[int]bool)
	}
	reaper.own[cmd.Process.Pid] = true
	return nil
}

// Wait waits for a command of Start.
func Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	delete(reaper.own, cmd.Process.Pid)
	return err
}

func reap() {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	if !reaper.adopts && os.Getpid() != 1 {
		return
	}
	for _, pid := range Children(os.Getpid()) {
		if !reaper.own[pid] {
			var status unix.WaitStatus
			_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil)
		}
	}
}

// killOrphans kills the orphans with the mark in their environment, and their descendants. The
// reaper waits meanwhile, so that no process id is reused.
func killOrphans(mark string) {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	for _, pid := range Children(os.Getpid()) {
		if reaper.own[pid] {
			continue
		}
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+mark+"\x00")) {
			continue
		}
		for _, stray := range append(Descendants(pid), pid) {
			_ = syscall.Kill(stray, syscall.SIGKILL)
		}
	}
}
