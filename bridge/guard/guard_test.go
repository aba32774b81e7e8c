package guard_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// load is the policy of a TOML text.
func load(t *testing.T, text string) *policy.Policy {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{User: file, UserRequired: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// world is the machine with a start folder of the test's own.
func world(t *testing.T) policy.State {
	t.Helper()
	w := guard.World()
	w.Programs, w.Links = nil, nil // the test's own program is in a temporary folder
	var err error
	if w.StartFolder, err = w.Paths.Canonical(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return w
}

// versionFunc stands in for a codex program that tells its version.
type versionFunc func(context.Context) (string, error)

func codexVersion(version string) versionFunc {
	return func(context.Context) (string, error) { return version, nil }
}

func (f versionFunc) supported(ctx context.Context) error {
	version, err := f(ctx)
	if err != nil {
		return err
	}
	return codex.CheckVersion(version, "0.125.0")
}

// The sessions are txtar files: the version of codex, where it is another than the
// measured one, policy.toml, and a session for bridgetest. After
// "-- policy.toml --" and "-- session --" both may come again: the policy is
// replaced in the middle of the conversation.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob("../../testdata/sessions/guard-*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			parts, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := world(t)
			log := slog.New(slog.DiscardHandler)
			var g *guard.Guard
			var c *bridgetest.Conversation
			version := codexVersion(methods.Measured)
			for _, part := range parts.Files {
				switch {
				case part.Name == "codex":
					version = codexVersion(strings.TrimSpace(string(part.Data)))
				case part.Name == "session":
					c.Play(filepath.Base(file), string(part.Data))
				case g == nil:
					g = guard.New(load(t, string(part.Data)), w, guard.NoRecord, log)
					c = bridgetest.StartAs(t, bridge.Options{Features: []bridge.Feature{hello.New("1.2.3", version, g, log), g}, Enforces: g.Enforces})
					g.SetCodexCheck(version.supported)
					c.Bind("start", w.StartFolder)
					c.Bind("measured", methods.Measured)
				default:
					g.SetPolicy(load(t, string(part.Data)))
				}
			}
		})
	}
}
