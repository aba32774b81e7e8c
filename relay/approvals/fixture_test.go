package approvals_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/approvals"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixture is a Memory with clocks that the test controls.
type fixture struct {
	*approvals.Memory
	approvals config.Approvals
	now       time.Time
	elapsed   time.Duration
	broken    error
}

func newFixture(t *testing.T, state string, remember approvals.Span) *fixture {
	t.Helper()
	w := &fixture{now: noon, approvals: config.Approvals{Remember: string(remember), TTL: config.Duration(30 * time.Minute), Max: 3}}
	var s *store.Store
	if state != "" {
		var err error
		if s, err = store.Open(t.Context(), store.Options{Folder: state}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
	}
	w.Memory = approvals.NewMemory(approvals.MemoryOptions{
		Approvals: func() config.Approvals { return w.approvals },
		Store: func(context.Context) (approvals.Store, error) {
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

func (w *fixture) remember(t *testing.T, k approvals.Key, span approvals.Span) *approvals.Grant {
	t.Helper()
	g, err := w.Remember(t.Context(), k, span, approvals.Origin{Client: "zed", What: "make"})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (w *fixture) check(t *testing.T, step string, k approvals.Key, want bool) {
	t.Helper()
	if _, got := w.Lookup(t.Context(), k); got != want {
		t.Errorf("%s: remembered %v, want %v", step, got, want)
	}
}

// newRequest returns a request in a new folder.
func newRequest(t *testing.T) approvals.Request {
	t.Helper()
	root := filepath.Join(t.TempDir(), "w")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	return approvals.Request{
		Provider: "codex", Session: "T", Workspace: root, Tool: "Bash", Cwd: filepath.Join(root, "sub"), Sandbox: "read-only",
		Input: []byte(`{"command":["git","commit","-m","a b"],"env":{"HOME":"/h","LANG":"C"},"n":1}`),
	}
}

func newKey(t testing.TB, a approvals.Request) approvals.Key {
	t.Helper()
	k, err := approvals.NewKey(a)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func changed(a approvals.Request, change func(*approvals.Request)) approvals.Request {
	change(&a)
	return a
}
