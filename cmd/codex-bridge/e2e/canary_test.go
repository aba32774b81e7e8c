//go:build linux

package e2e_test

import (
	"testing"

	"codex-bridge.example/cmd/codex-bridge/internal/canary"
	"codex-bridge.example/cmd/internal/editor"
)

// TestCanary runs the conversations that each release of Codex must pass: alone, through the bridge
// without a configuration, and under an enforced policy. cmd/bridge-releases runs it with each release
// (codexEnv), and docs/internals/releases.md has the results. Each row is a conversation of its own.
func TestCanary(t *testing.T) {
	t.Parallel()
	for _, row := range canary.Rows {
		for _, kind := range []string{"codex", "plain", "enforced"} {
			if row.UnderPolicy && kind != "enforced" {
				continue
			}
			t.Run(kind+"/"+row.Name, func(t *testing.T) {
				t.Parallel()
				o := options{mute: "releases differ in what they send"}
				argv := proxyArgv
				switch kind {
				case "codex":
					argv = []string{codexPath, "app-server"}
				case "enforced":
					o.config = canary.Policy
				}
				w := newWorld(t, o)
				err := row.Play(deadline(t), canary.Place{
					Workspace: w.workspace, State: w.state, Model: w.model,
					Start: func(eo editor.Options) (*editor.Editor, error) { return w.start(argv, eo), nil },
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}
