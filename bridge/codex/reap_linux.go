package codex

import (
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// reaper collects orphans that were handed to us, so that they do not stay as
// zombies for as long as codex runs. Children that we started ourselves are left
// to os/exec.
var reaper struct {
	mu   sync.Mutex
	own  map[int]bool
	once sync.Once
}

// startOwn starts cmd; the reaper keeps its hands off it until it has been
// waited for.
func startOwn(cmd *exec.Cmd) error {
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

// waitOwn waits for a command that startOwn has started.
func waitOwn(cmd *exec.Cmd) error {
	err := cmd.Wait()
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	delete(reaper.own, cmd.Process.Pid)
	return err
}

func reap() {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	for _, pid := range children(os.Getpid()) {
		if !reaper.own[pid] {
			var status unix.WaitStatus
			_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil)
		}
	}
}
