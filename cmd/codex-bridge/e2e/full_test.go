//go:build linux

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/store"

	"golang.org/x/sys/unix"
)

// The disk is full after several numbers of written bytes. Actions that must be logged fail with
// that reason, and a turn runs without its trace. With free space all works again, with a complete
// log.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: keptPolicy})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	never := map[string]any{"cwd": w.workspace, "approvalPolicy": "never"} // rewritten, so it must be logged
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
		refused := c.mustFail("thread/start", never)
		if refused.Code != -32010 || !strings.Contains(refused.Message, "so the bridge does not apply it") {
			t.Errorf("with room for %d bytes the bridge says %v", room, refused)
		}
		if room == 0 {
			c.runTurn(thread, "good day in the meantime")
		}
		limit(unix.RLIM_INFINITY)
		c.must("thread/start", never)
	}
	if said := c.Stderr(); !strings.Contains(said, filepath.Dir(log)) || !strings.Contains(said, "name another state folder") {
		t.Errorf("stderr has no path and hint: %s", said)
	}
	c.toolOutput(thread, "RUN: touch denied")
	c.closeAndWait()
	c.checkAbsent("denied")
	verify := exec.Command(proxyPath, "decisions", "verify")
	verify.Env, verify.Dir = w.env, w.workspace
	if out, err := verify.CombinedOutput(); err != nil || !strings.Contains(string(out), "none changed") {
		t.Errorf("%v\n%s", err, out)
	}
}
