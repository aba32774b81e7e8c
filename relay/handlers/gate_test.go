package handlers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// fakePolicy is a policy and a decision log that can fail.
type fakePolicy struct {
	folder          string
	logFails        bool // of answers that accept
	optsOut         bool
	consentLogFails bool // consents can't be logged

	mu       sync.Mutex
	rules    []string // of logged decisions
	consents []string // the reasons of logged consents
	warnings []string // about answers that count once
}

func (j *fakePolicy) Session(thread string) string  { return thread }
func (j *fakePolicy) Workspace(string) string       { return j.folder }
func (j *fakePolicy) Sandbox(string, string) string { return "workspace-write" }
func (j *fakePolicy) Client() string                { return "zed" }
func (j *fakePolicy) WantsNotification(string) bool { return !j.optsOut }

func (j *fakePolicy) WarnOnce(_, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.warnings = append(j.warnings, text)
}

func (j *fakePolicy) RecordAnswer(_ context.Context, _ *rpc.Envelope, v policy.Verdict, rule, _, _ string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.logFails && v == policy.Accept {
		return errors.New("disk full")
	}
	j.rules = append(j.rules, string(v)+" "+rule)
	return nil
}

// Append implements approvals.DecisionLog.
func (j *fakePolicy) Append(_ context.Context, d decision.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.consentLogFails {
		return errors.New("disk full")
	}
	j.consents = append(j.consents, d.Reason)
	return nil
}

// fakeCodex calls the gate for each "hook" message and sends the answer to the client. For
// a "question" message it calls Accepted.
type fakeCodex struct {
	gate     *handlers.Gate
	peer     *bridge.Conn
	previous chan struct{}      // closed when the previous call has its answer
	end      context.CancelFunc // ends the last call
}

func (h *fakeCodex) Attach(p *bridge.Conn) { h.peer = p }

func (h *fakeCodex) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Codex, Method: "hook", HandleServer: func(ctx context.Context, msg *bridge.ServerMessage) {
			params := msg.Clone().Root().Get("params")
			msg.Line = nil
			call, err := hook.ParseCall(hook.PreToolUse, params.Get("payload").Raw())
			if err != nil {
				panic(err)
			}
			text, _ := params.Get("why").Text()
			leaves, _ := params.Get("leaves").Bool()
			shell, ok := params.Get("shell").Text()
			if !ok {
				shell = "bash"
			}
			since, _ := params.Get("since").Text()
			end, _ := time.Parse(time.DateOnly, since) // without one, all answers count
			before, told := h.previous, make(chan struct{})
			h.previous = told
			ctx, h.end = context.WithCancel(ctx)
			go func() { // as the hook server does
				defer close(told)
				answer := h.gate.Ask(ctx, call, handlers.GateReason{Text: text, Escalated: leaves, Shell: shell, Terms: policy.AnswerTerms{Since: end}})
				if before != nil {
					<-before
				}
				h.peer.Notify("hook/answered", map[string]any{"call": call.ToolUseID, "decision": answer.Decision, "reason": answer.Reason})
			}()
		}},
		{From: bridge.Codex, Method: "one waits", HandleServer: func(context.Context, *bridge.ServerMessage) {
			for h.gate.Waiting() != 1 {
				time.Sleep(time.Millisecond)
			}
		}},
		{From: bridge.Codex, Method: "the waiting call ends", HandleServer: func(context.Context, *bridge.ServerMessage) {
			for h.end(); h.gate.Waiting() != 0; {
				time.Sleep(time.Millisecond)
			}
		}},
		{From: bridge.Codex, Method: "the asking call ends", HandleServer: func(_ context.Context, msg *bridge.ServerMessage) {
			msg.Line = nil
			h.end()
		}},
		{From: bridge.Codex, Method: "question", HandleServer: func(_ context.Context, msg *bridge.ServerMessage) {
			method, _ := msg.Root().Get("params").Get("method").Text()
			asked, err := rpc.ParseEnvelope(rpc.EncodeRequest(rpc.NewStringID(rand.Text()), method, msg.Root().Get("params").Get("params").Raw()))
			if err != nil {
				panic(err)
			}
			shown, ok := h.gate.Accepted(asked)
			msg.Line = nil
			h.peer.Notify("question/answered", map[string]any{"ok": ok, "shown": shown})
		}},
	}
}

func (*fakeCodex) Stage() bridge.Stage { return bridge.Last }

// Plays testdata/sessions/gate-*.txt.
func TestRecordedSessions(t *testing.T) {
	for name, set := range map[string]struct {
		approvals config.Approvals
		judge     *fakePolicy
		rules     []string // expected in the log; nil: any
		known     bool     // the client knows the bridge
		warnings  int      // about answers that count once
	}{
		"answers":    {warnings: 1},
		"deaf":       {judge: &fakePolicy{optsOut: true}},
		"ends":       {rules: []string{"deny approvals.nobody", "deny approvals.nobody"}},
		"hint":       {known: true, approvals: config.Approvals{Remember: "session", TTL: config.Duration(time.Hour), Max: 8}},
		"late":       {approvals: config.Approvals{Timeout: config.Duration(time.Second)}, rules: []string{"deny approvals.timeout"}},
		"limit":      {},
		"memory":     {warnings: 1, approvals: config.Approvals{Remember: "session", TTL: config.Duration(time.Hour), Max: 8}},
		"shared":     {rules: []string{"accept approvals.shared", "deny approvals.nobody", "deny approvals.shared"}},
		"turns":      {},
		"unreadable": {judge: &fakePolicy{optsOut: true}, rules: slices.Repeat([]string{"deny protocol"}, 12)},
		"unrecorded": {judge: &fakePolicy{consentLogFails: true}},
		"unlogged":   {approvals: config.Approvals{Remember: "session", TTL: config.Duration(time.Hour), Max: 8}, judge: &fakePolicy{logFails: true}, rules: []string{"deny store"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			j := set.judge
			if j == nil {
				j = &fakePolicy{}
			}
			j.folder = folder
			if set.approvals.Remember == "" {
				set.approvals.Remember = "off"
			}
			if set.approvals.Timeout == 0 {
				set.approvals.Timeout = config.Duration(time.Hour)
			}
			current := func() config.Approvals { return set.approvals }
			memory := approvals.NewMemory(approvals.MemoryOptions{Approvals: current, Store: func(context.Context) (approvals.Store, error) {
				return nil, errors.New("there is none")
			}})
			g := handlers.NewGate(handlers.GateOptions{
				Approvals: current, Policy: j, Memory: memory, Record: j, Log: slog.New(slog.DiscardHandler),
				Limiter: approvals.NewLimiter(), Calls: new(handlers.Calls), // all within a minute
				HasPerson: func() (bool, string) { return true, "" }, KnowsBridge: func() bool { return set.known },
			})
			c := bridgetest.Start(t, g, &fakeCodex{gate: g})
			c.Bind("cwd", folder)
			c.Bind("null", "The user has not accepted this call: the client's answer can't be read, so it counts as a refusal: it is null where Codex "+methods.Measured+" has an object. Tell the user, and don't try another way.")
			text, err := os.ReadFile("../../testdata/sessions/gate-" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			c.Play(name, string(text))
			j.mu.Lock()
			defer j.mu.Unlock()
			if name == "answers" && !slices.ContainsFunc(j.consents, func(text string) bool { return strings.Contains(text, `"command":`) }) {
				t.Errorf("of what was allowed is on record %q", j.consents)
			}
			if len(j.warnings) != set.warnings {
				t.Errorf("the client is warned %q", j.warnings)
			}
			if set.rules != nil && !slices.Equal(j.rules, set.rules) {
				t.Errorf("on record is %q", j.rules)
			}
		})
	}
}
