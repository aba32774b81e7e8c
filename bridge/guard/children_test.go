package guard_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
)

// The file has the form of TestSessions, with rollout files of Codex. After "-- session --" the
// threads belong to their root threads, after "-- fallen --" no more.
func TestChildren(t *testing.T) {
	const name = "children.txtar"
	parts, err := txtar.ParseFile(filepath.Join("../../testdata/sessions", name))
	if err != nil {
		t.Fatal(err)
	}
	w := world(t)
	if w.CodexHome, err = w.Paths.Canonical(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	const root, orphan = "01900000-0000-7000-8000-000000000001", "01900000-0000-7000-8000-000000000006"
	belongs := func(g *guard.Guard, thread, session, workspace string) {
		t.Helper()
		if s, w := g.Session(thread), g.Workspace(thread); s != session || w != workspace {
			t.Errorf("%s works for %s in %q, not for %s in %q", thread, s, w, session, workspace)
		}
	}
	var c *bridgetest.Conversation
	var g *guard.Guard
	for _, part := range parts.Files {
		home, written := strings.CutPrefix(part.Name, "codex-home/")
		switch {
		case part.Name == "policy.toml":
			g = guard.New(load(t, string(part.Data)), w, guard.NoRecord, slog.New(slog.DiscardHandler))
			g.SetKnowsBridge(func() bool { return true }) // no warnings
			c = bridgetest.Start(t, g)
			c.Bind("start", w.StartFolder)
			c.Bind("file", filepath.Join(w.StartFolder, "a"))
		case written:
			path := filepath.Join(w.CodexHome, filepath.FromSlash(home))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			// A name of the start folder is a JSON text.
			text := strings.ReplaceAll(string(part.Data), "$start", filepath.ToSlash(w.StartFolder))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		default:
			c.Play(name, string(part.Data))
			if part.Name == "session" {
				for n := range 3 {
					belongs(g, root[:35]+string(rune('1'+n)), root, w.StartFolder)
				}
				belongs(g, orphan, orphan, "")
			}
		}
	}
	belongs(g, root[:35]+"2", root[:35]+"2", "")
}
