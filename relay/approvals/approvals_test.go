package approvals_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/relay/approvals"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// brokenLog is a decision log that returns an error, if one is set.
type brokenLog struct{ err error }

func (r *brokenLog) Append(context.Context, decision.Record) error { return r.err }

// play runs a session through the guard and the feature, in the proxy's order.
func play(t *testing.T, session, remember string, timeout time.Duration, log *brokenLog) {
	t.Helper()
	playFor(t, session, remember, timeout, log, false)
}

// playFor is play with a client that may know the bridge.
func playFor(t *testing.T, session, remember string, timeout time.Duration, log *brokenLog, known bool) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/sessions/" + session)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := startWith(t, "", time.Now, remember, timeout, log, known)
	c.Play(session, string(text))
}

// startWith starts a conversation with the guard and the feature, whose policy has these rules.
func startWith(t *testing.T, rules string, now func() time.Time, remember string, timeout time.Duration, log *brokenLog, known bool) (*bridgetest.Conversation, *approvals.Feature) {
	t.Helper()
	cfg, err := config.Load(config.Options{User: file(t, `
[policy]
gate = false
mode = "enforce"
sandbox = "read-only"
approval = ["untrusted"]
project_trust = "codex"
escalation = "ask"
`+rules), UserRequired: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		t.Fatal(err)
	}
	world := guard.World()
	world.Now = now
	world.Programs, world.Links = nil, nil // the test binary is in a temporary folder
	if world.StartFolder, err = world.Paths.Canonical(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	g := guard.New(p, world, log, quiet)
	g.SetKnowsBridge(func() bool { return true }) // no warnings
	current := func() config.Approvals {
		return config.Approvals{Remember: remember, TTL: config.Duration(time.Hour), Max: 8, Timeout: config.Duration(timeout)}
	}
	memory := approvals.NewMemory(approvals.MemoryOptions{Approvals: current, Store: func(context.Context) (approvals.Store, error) {
		return nil, errors.New("there is none")
	}, Now: now})
	limiter := approvals.NewLimiter() // all within a minute
	f := approvals.New(approvals.Options{Approvals: current, Policy: g, Memory: memory, Limiter: limiter,
		Sessions: fakeSessions{}, Record: log, KnowsBridge: func() bool { return known }, Log: quiet})
	c := bridgetest.Start(t, g, f)
	c.Bind("start", world.StartFolder)
	return c, f
}

// playEqual runs a session in which all questions stay in the sandbox.
func playEqual(t *testing.T, session string, timeout time.Duration) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/sessions/" + session)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := startShared(t, timeout)
	c.Play(session, begun+string(text))
}

// begun lets the client send a message first: until then it gets nothing.
const begun = `editor> {"method":"initialized"}
codex<  {"method":"initialized"}
`

// fakeSessions has no apps and one running turn.
type fakeSessions struct{ turn string }

func (fakeSessions) Apps(context.Context, string) *answer.Apps { return nil }
func (n fakeSessions) Running(string) string                   { return n.turn }

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestQuestionsAreAnsweredFromMemory(t *testing.T) {
	play(t, "approvals-memory.txt", "session", time.Hour, &brokenLog{})
}

// A client that knows the bridge gets the time that is left, and for how long an acceptance is kept.
func TestQuestionHasHint(t *testing.T) {
	playFor(t, "approvals-hint.txt", "always", time.Hour, &brokenLog{}, true)
}

func TestQuestionTimesOut(t *testing.T) {
	play(t, "approvals-late.txt", "off", time.Millisecond, &brokenLog{})
}

// An equal question that is pending is asked once.
func TestEqualPendingQuestionsShareTheAnswer(t *testing.T) {
	playEqual(t, "approvals-shared.txt", time.Hour)
}

func TestDifferentQuestionsAreAskedSeparately(t *testing.T) {
	play(t, "approvals-apart.txt", "off", time.Hour, &brokenLog{})
}

func TestSharedQuestionsTimeOut(t *testing.T) {
	playEqual(t, "approvals-shared-late.txt", 200*time.Millisecond)
}

// A model that keeps asking gets a refusal.
func TestQuestionsBeyondTheLimitAreRejected(t *testing.T) {
	play(t, "approvals-limit.txt", "off", time.Hour, &brokenLog{})
}
