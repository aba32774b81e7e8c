package grants_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/grants"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a memory whose clocks are the test's.
type world struct {
	*grants.Memory
	approvals config.Approvals
	now       time.Time
	elapsed   time.Duration
	broken    error
}

func newWorld(t *testing.T, state string, remember grants.Span) *world {
	t.Helper()
	w := &world{now: noon, approvals: config.Approvals{Remember: string(remember), TTL: config.Duration(30 * time.Minute), Max: 3}}
	var s *store.Store
	if state != "" {
		var err error
		if s, err = store.Open(t.Context(), store.Options{Folder: state}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
	}
	w.Memory = grants.NewMemory(grants.Options{
		Approvals: func() config.Approvals { return w.approvals },
		Store: func(context.Context) (*store.Store, error) {
			if s == nil {
				t.Error("the store was asked for")
			}
			return s, w.broken
		},
		Secrets: []string{"rosebud in the snow"},
		Now:     func() time.Time { return w.now },
		Elapsed: func() time.Duration { return w.elapsed },
	})
	return w
}

func (w *world) remember(t *testing.T, k grants.Key, span grants.Span) *grants.Grant {
	t.Helper()
	g, err := w.Remember(t.Context(), k, span, grants.Origin{Client: "zed", What: "make"})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (w *world) check(t *testing.T, step string, k grants.Key, want bool) {
	t.Helper()
	if _, got := w.Remembered(t.Context(), k); got != want {
		t.Errorf("%s: remembered %v, want %v", step, got, want)
	}
}

// asked is a request in a new folder.
func asked(t *testing.T) grants.Asked {
	t.Helper()
	root := filepath.Join(t.TempDir(), "w")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	return grants.Asked{
		Provider: "codex", Session: "T", Workspace: root, Tool: "Bash", Cwd: filepath.Join(root, "sub"), Sandbox: "read-only",
		Input: []byte(`{"command":["git","commit","-m","a b"],"env":{"HOME":"/h","LANG":"C"},"n":1}`),
	}
}

func key(t testing.TB, a grants.Asked) grants.Key {
	t.Helper()
	k, err := grants.NewKey(a)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func with(a grants.Asked, change func(*grants.Asked)) grants.Asked {
	change(&a)
	return a
}
