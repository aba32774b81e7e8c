//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A thread without a model gets the first model that the policy names, whatever the default of this release of
// Codex is. Codex alone takes its own.
func TestOmittedModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmodels = [\"gpt-5.4\", \"gpt-5.6-*\"]\n"})
	var config []string
	for line := range strings.Lines(w.read("home/config.toml")) {
		if !strings.HasPrefix(line, "model =") {
			config = append(config, line)
		}
	}
	w.write("home/config.toml", strings.Join(config, ""))
	open := func(argv ...string) string {
		c := w.open(argv...)
		c.initialize(nil)
		thread, echo := c.openThread("thread/start", map[string]any{"cwd": w.workspace, "sandbox": "read-only"})
		c.runTurn(thread, "good day")
		c.closeAndWait()
		return editor.Member(echo, "model")
	}
	if model := open(codexPath, "app-server"); model == "gpt-5.4" {
		t.Fatal("Codex's own default is the model of the policy, so the test shows nothing")
	}
	if model := open(proxyArgv...); model != "gpt-5.4" {
		t.Errorf("the thread has the model %q", model)
	}
}
