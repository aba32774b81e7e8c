//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// "For this session", which clients answer also where Codex does not offer it, counts once for a command
// outside the sandbox, as a plain consent with Codex alone. The client is told so.
func TestConsentForSessionCountsOnce(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{{codexPath, "app-server"}, proxyArgv} {
		w := newWorld(t, options{config: neverConfig})
		c := w.openAnswering("acceptForSession", argv...)
		c.initialize(nil)
		thread := c.thread(confined)
		mark := len(c.Messages())
		for _, name := range []string{"first", "second"} {
			turn, at := c.startTurn(thread, w.escalates(name))
			c.waitTurn(thread, turn, at)
			if !w.hasFile(name) {
				t.Errorf("%s: the %s command did not run; the model got %q", argv[0], name, w.lastToolOutput())
			}
		}
		warned := 0
		for _, m := range c.Messages()[mark:] {
			if isOnceWarning(m) {
				warned++
			}
		}
		if want := map[bool]int{true: 1}[argv[0] != codexPath]; warned != want {
			t.Errorf("%s: %d warnings, want %d", argv[0], warned, want)
		}
		c.closeAndWait()
	}
}

func isOnceWarning(m editor.Message) bool {
	return m.Method == "configWarning" && strings.Contains(string(m.Params), "has let this run once")
}
