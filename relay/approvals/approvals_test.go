package approvals_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codex-bridge/bridge/bridgetest"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/answer"
	"codex-bridge/relay/approvals"
	"codex-bridge/relay/grants"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// record is a decision log that a test can break.
type record struct{ err error }

func (r *record) Append(context.Context, store.Decision) error { return r.err }

// play plays a session through the guard and the feature, as the proxy has them.
func play(t *testing.T, session, remember string, timeout time.Duration, log *record) {
	t.Helper()
	cfg, err := config.Load(config.Options{User: file(t, `
[policy]
gate = false
mode = "enforce"
sandbox = "read-only"
approval = ["untrusted"]
project_trust = "codex"
escalation = "ask"
`), UserRequired: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		t.Fatal(err)
	}
	world := guard.World()
	world.Programs, world.Links = nil, nil // the test's own program is in a temporary folder
	if world.Start, err = world.Paths.Canonical(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	g := guard.New(p, world, log, quiet)
	current := func() config.Approvals {
		return config.Approvals{Remember: remember, TTL: config.Duration(time.Hour), Max: 8, Timeout: config.Duration(timeout)}
	}
	memory := grants.NewMemory(grants.Options{Approvals: current, Store: func(context.Context) (*store.Store, error) {
		return nil, errors.New("there is none")
	}})
	limiter := grants.NewLimiter(func() time.Duration { return 0 }) // all of it within a minute
	c := bridgetest.Start(t, g, approvals.New(approvals.Options{Approvals: current, Judge: g, Memory: memory, Limiter: limiter,
		Sessions: none{}, Record: log, Log: quiet}))
	c.Bind("start", world.Start)
	text, err := os.ReadFile("../../testdata/sessions/" + session)
	if err != nil {
		t.Fatal(err)
	}
	c.Play(session, string(text))
}

// none are the sessions of a client that has none.
type none struct{ turn string }

func (none) Apps(context.Context, string) *answer.Apps { return nil }
func (n none) Running(string) string                   { return n.turn }

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMemory(t *testing.T) { play(t, "approvals-memory.txt", "session", time.Hour, &record{}) }

func TestLate(t *testing.T) { play(t, "approvals-late.txt", "off", time.Millisecond, &record{}) }

// Identical questions that are pending are one to the person; others are not.
func TestShared(t *testing.T) { play(t, "approvals-shared.txt", "off", time.Hour, &record{}) }

func TestApart(t *testing.T) { play(t, "approvals-apart.txt", "off", time.Hour, &record{}) }

func TestSharedLate(t *testing.T) {
	play(t, "approvals-shared-late.txt", "off", 200*time.Millisecond, &record{})
}

// A model that asks on and on is told no in the person's place.
func TestLimit(t *testing.T) { play(t, "approvals-limit.txt", "off", time.Hour, &record{}) }
