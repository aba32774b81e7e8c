//go:build linux

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/bridge/store"

	"golang.org/x/sys/unix"
)

// The disk is full, at each of several bytes of what is written down: what has to be on record
// is not done, with that reason; a turn goes on without its trace; and when there is room again,
// all is as before, with a log that is whole.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: keptPolicy})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	never := map[string]any{"cwd": w.workspace, "approvalPolicy": "never"} // is rewritten, which is on record
	thread := c.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	limit := func(size uint64) {
		t.Helper()
		if err := unix.Prlimit(c.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}, nil); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(w.root, "state", store.DatabaseFile+"-wal")
	for _, room := range []int64{0, 1, 23, 24, 25, 1000, 4000} {
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		limit(uint64(info.Size() + room))
		refused := c.refused("thread/start", never)
		if refused.Code != -32010 || !strings.Contains(refused.Message, "so the bridge does not apply it") {
			t.Errorf("with room for %d bytes the bridge says %v", room, refused)
		}
		if room == 0 {
			c.say(thread, "good day in the meantime")
		}
		limit(unix.RLIM_INFINITY)
		c.must("thread/start", never)
	}
	if said := c.Stderr(); !strings.Contains(said, filepath.Dir(log)) || !strings.Contains(said, "name another state folder") {
		t.Errorf("nobody is told where, and what to do: %s", said)
	}
	c.told(thread, "RUN: touch denied")
	c.quit()
	c.absent("denied")
	verify := exec.Command(proxyPath, "decisions", "verify")
	verify.Env, verify.Dir = w.env, w.workspace
	if out, err := verify.CombinedOutput(); err != nil || !strings.Contains(string(out), "none changed") {
		t.Errorf("%v\n%s", err, out)
	}
}
