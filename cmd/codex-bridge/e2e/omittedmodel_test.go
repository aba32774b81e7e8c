//go:build linux

package e2e_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A thread without a model, or with a forbidden one, gets the first model that the policy names, whatever the
// default of this release of Codex is. Without a plain name it gets the first of Codex's list that fits, and so
// does its fork. Codex alone takes its own default, and what the client names.
func TestOmittedModel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, models, fits string }{
		{"a plain name", `["gpt-5.6-*", "gpt-5.4"]`, "gpt-5.4"},
		{"wildcards alone", `["gpt-5.6-*"]`, "gpt-5.6-sol"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\nmodels = " + test.models + "\n"})
			var config []string
			for line := range strings.Lines(w.read("home/config.toml")) {
				if !strings.HasPrefix(line, "model =") {
					config = append(config, line)
				}
			}
			w.write("home/config.toml", strings.Join(config, ""))
			open := func(argv ...string) (models []string) {
				c := w.open(argv...)
				c.initialize(nil)
				for _, more := range []map[string]any{{}, {"model": "gpt-5.5"}} {
					params := map[string]any{"cwd": w.workspace, "sandbox": "read-only"}
					maps.Copy(params, more)
					thread, echo := c.openThread("thread/start", params)
					c.runTurn(thread, "good day")
					_, fork := c.openThread("thread/fork", map[string]any{"threadId": thread})
					models = append(models, editor.Member(echo, "model"), editor.Member(fork, "model"))
				}
				c.closeAndWait()
				return models
			}
			if models := open(codexPath, "app-server"); models[0] == test.fits || models[2] != "gpt-5.5" {
				t.Fatalf("Codex alone has the models %q, so the test shows nothing", models)
			}
			if models := open(proxyArgv...); slices.ContainsFunc(models, func(name string) bool { return name != test.fits }) {
				t.Errorf("the threads have the models %q", models)
			}
			if text, _, _ := w.runCommand("doctor"); !strings.Contains(text, test.fits+" replaces a forbidden model") {
				t.Errorf("doctor does not name the model:\n%s", text)
			}
			start := w.write("start.json", `{"id":1,"method":"thread/start","params":{"model":"gpt-5.5"}}`)
			if text, errs, _ := w.runCommand("policy", "explain", start); !strings.Contains(text, `"gpt-5.5" -> "`+test.fits+`"`) {
				t.Errorf("policy explain says:\n%s%s", text, errs)
			}
		})
	}
}
