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
	"time"

	"golang.org/x/sys/unix"
)

// reaper reaps orphans, which are children of the bridge on Linux, so that they do not stay
// zombies. It leaves children of Start to os/exec, and children in the bridge's own process group: those
// were started in another way, as tests do, and their Wait would fail. An orphan is in the group of
// the child of Start whose descendant it was, or in one of its own. So may be a child that was started in
// another way, such as one on a terminal: the reaper leaves time to those who wait for one.
var reaper struct {
	mu   sync.Mutex
	own  map[int]bool
	once sync.Once
}

// reapDelay is how long an orphan that has ended stays a zombie.
const reapDelay = 200 * time.Millisecond

// Start starts cmd. The reaper does not touch it until Wait has returned.
func Start(cmd *exec.Cmd) error {
	reaper.once.Do(func() {
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGCHLD)
		go func() { // lives as long as the process
			for range ended {
				orphans := endedOrphans()
				time.Sleep(reapDelay)
				reap(orphans)
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

// endedOrphans returns the children that may be orphans and have ended.
func endedOrphans() (pids []int) {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	for _, pid := range Children(os.Getpid()) {
		if group, err := unix.Getpgid(pid); reaper.own[pid] || err != nil || group == unix.Getpgrp() {
			continue
		}
		var ended unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == nil && ended.Signo != 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// reap reaps those of the children for which nothing has waited.
func reap(pids []int) {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	for _, pid := range pids {
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
