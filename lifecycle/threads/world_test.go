package threads_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/threads"
	"codex-bridge.example/rpc"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// guard stands behind the feature: it takes out what a policy would, and refuses a folder.
type guard struct{}

func (guard) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: bridge.Other, Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		if call.Params.Get("cwd").Is("/forbidden") {
			return rpc.Errorf(rpc.CodeRefused, "not there")
		}
		return nil
	}}}
}

func (guard) Stage() bridge.Stage { return bridge.BeforeGuard }

// world is a state and a feature.
type world struct {
	*bridgetest.Conversation
	store   *store.Store
	feature *threads.Feature
}

func newWorld(t *testing.T, known bool, thread config.Thread) *world {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Folder: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return on(t, s, known, thread)
}

func on(t *testing.T, s *store.Store, known bool, thread config.Thread) *world {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := threads.New(threads.Options{
		Store:  func(context.Context) (*store.Store, error) { return s, nil },
		Thread: func() config.Thread { return thread },
		Known:  func() bool { return known },
		Now:    func() time.Time { return noon },
		Log:    slog.New(slog.DiscardHandler),
	})
	w := &world{bridgetest.Start(t, f, guard{}), s, f}
	w.Bind("pid", float64(os.Getpid()))
	return w
}

// bind gives a session a thread.
func (w *world) bind(t *testing.T, b store.Binding) {
	t.Helper()
	b.Updated = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	if err := w.store.PutBinding(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

const record = `{"schemaVersion":1,"threadId":"T","cwd":"/w","model":"m","dynamicToolsFingerprint":"[]","createdAt":"2026-01-01T00:00:00.000Z"}`

// Conversations of a session "chat" that is bound to the thread T.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, true, config.Default().Thread)
			w.bind(t, store.Binding{Session: "chat", Thread: "T", Record: record, Action: "started", Reason: "notBound"})
			w.Play(file, string(text))
		})
	}
}
