//go:build !portable

package child

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reaper reaps orphans, which are children of the bridge on Linux, so that they do not stay
// zombies. It leaves children of Start to os/exec, and children in the bridge's own process group: those
// were started in another way, as tests do, and their Wait would fail. An orphan is in the group of
// the child of Start whose descendant it was, or in one of its own. So is a child on a terminal of its own,
// as tests start one: that is seen by its handle.
var reaper struct {
	mu   sync.Mutex
	own  map[int]bool
	once sync.Once
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

// isAwaited reports whether this program has started a child and has not waited for it: until then os/exec keeps a
// file descriptor for it. Linux has these since 5.4; on an older one only children of Start are known.
func isAwaited(pid int) bool {
	if reaper.own[pid] {
		return true
	}
	const folder = "/proc/self/fdinfo/"
	files, _ := os.ReadDir(folder)
	return slices.ContainsFunc(files, func(file os.DirEntry) bool {
		info, err := os.ReadFile(folder + file.Name())
		return err == nil && bytes.Contains(info, []byte("\nPid:\t"+strconv.Itoa(pid)+"\n"))
	})
}

func reap() {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	for _, pid := range Children(os.Getpid()) {
		if group, err := unix.Getpgid(pid); err == nil && group != unix.Getpgrp() && !isAwaited(pid) {
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

// KillDescendants kills all descendants of this process, except for the sentry. One that forks meanwhile is found in the
// next round. The rounds are limited, since some processes can't be killed. Children that this program has started are left
// to their Wait, which tells how they ended. Within grace, orphans may end by themselves.
func KillDescendants(grace time.Duration) {
	for end := time.Now().Add(grace); hasOrphans() && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	for range 50 {
		if !killRound(sentryID()) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// hasOrphans reports whether this process has a child that it has not started.
func hasOrphans() bool {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	return slices.ContainsFunc(Children(os.Getpid()), func(pid int) bool { return !isAwaited(pid) })
}

// EndSandboxes kills the orphans that bubblewrap should have ended, with their descendants. It gives them grace to end
// by themselves, and returns at once if there are none. Other orphans run on.
//
// A bubblewrap that is killed just when it has made its child leaves it waiting for ever, and Codex kills the sandboxes in
// which it reads files (measured with Codex 0.169 and 0.171).
func EndSandboxes(grace time.Duration) {
	for end := time.Now().Add(grace); endSandboxes(!time.Now().Before(end)); time.Sleep(5 * time.Millisecond) {
	}
}

// endSandboxes reports whether there are sandboxes to wait for. With kill it kills them.
func endSandboxes(kill bool) (left bool) {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	pids := orphanedSandboxes()
	if !kill {
		return len(pids) > 0
	}
	for _, pid := range pids {
		for _, stray := range append(Descendants(pid), pid) {
			_ = unix.Kill(stray, unix.SIGKILL)
		}
		_, _ = unix.Wait4(pid, nil, 0, nil)
	}
	return false
}

// orphanedSandboxes returns the orphans that are bubblewraps which are to die with their parent. The caller holds the
// reaper's lock.
func orphanedSandboxes() (pids []int) {
	for _, pid := range Children(os.Getpid()) {
		if line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil && bytes.Contains(line, []byte("\x00--die-with-parent\x00")) && !isAwaited(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killRound kills the descendants that run now, and reaps orphans. It reports whether some may be left.
func killRound(spared int) (left bool) {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	for _, pid := range Descendants(os.Getpid()) {
		if pid == spared {
			continue
		}
		_ = unix.Kill(pid, unix.SIGKILL)
		if isAwaited(pid) {
			continue
		}
		var status unix.WaitStatus
		if got, _ := unix.Wait4(pid, &status, unix.WNOHANG, nil); got != pid {
			left = true
		}
	}
	return left
}

// sentryID returns the process id of the sentry; 0 if there is none.
func sentryID() int {
	sentry.mu.Lock()
	defer sentry.mu.Unlock()
	return sentry.pid
}
