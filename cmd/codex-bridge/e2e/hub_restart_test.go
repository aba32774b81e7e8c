//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Codex that is started again has the arguments that a changed policy needs.
func TestRestartedCodexHasPolicyArguments(t *testing.T) {
	t.Parallel()
	const off = "[serve]\nmode = \"require\"\nidle = \"5s\"\n"
	w := newHubWorld(t, off)
	a := w.open(proxyArgv...).initializeWithBridge()
	arguments := func() string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", w.codexPID()))
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
	}
	if before := arguments(); strings.Contains(before, "features.") {
		t.Fatal(before)
	}
	w.write("config.toml", off+"[policy]\nmode = \"enforce\"\n")
	a.waitFor(0, "bridge/config/changed", nil)
	if err := syscall.Kill(w.codexPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Exit(a.ctx); err != nil {
		t.Fatal(err)
	}
	b := w.open(proxyArgv...).initializeWithBridge()
	if after := arguments(); !strings.Contains(after, "features.") {
		t.Errorf("without the arguments of the policy: %s", after)
	}
	b.Close(5 * time.Second)
}
