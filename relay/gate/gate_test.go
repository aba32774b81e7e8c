package gate_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/bridgetest"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/approvals"
	"codex-bridge/relay/gate"
	"codex-bridge/relay/hook"
	"codex-bridge/rpc"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// judge is a policy whose log a test can break.
type judge struct {
	folder string
	broken bool
	deaf   bool
	full   bool // the person's decisions can't be put on record

	mu      sync.Mutex
	rules   []string // by which was answered
	allowed []string // what the person has, as it is on record
}

func (j *judge) Session(thread string) string  { return thread }
func (j *judge) Workspace(string) string       { return j.folder }
func (j *judge) Sandbox(string, string) string { return "workspace-write" }
func (j *judge) Client() string                { return "zed" }
func (j *judge) Hears(string) bool             { return !j.deaf }

func (j *judge) Settled(_ context.Context, _ *rpc.Envelope, v policy.Verdict, rule, _ string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken {
		return errors.New("disk full")
	}
	j.rules = append(j.rules, string(v)+" "+rule)
	return nil
}

// Append implements approvals.Recorder.
func (j *judge) Append(_ context.Context, d store.Decision) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.full {
		return errors.New("disk full")
	}
	j.allowed = append(j.allowed, d.Reason)
	return nil
}

// hooks asks the gate about each call that codex tells of by "hook", and tells the
// client what came of it. By "question" it finds out whether codex's own question about
// a call is answered.
type hooks struct {
	gate *gate.Gate
	peer *bridge.Conn
	told chan struct{} // closed when the call before this one has its answer; nil: there is none
}

func (h *hooks) Attach(p *bridge.Conn) { h.peer = p }

func (h *hooks) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Codex, Method: "hook", HandleServer: func(ctx context.Context, said *bridge.ServerMessage) {
			params := said.Clone().Root().Get("params")
			said.Line = nil
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
			before, told := h.told, make(chan struct{})
			h.told = told
			go func() { // as the relay does
				defer close(told)
				answer := h.gate.Ask(ctx, call, gate.Reason{Text: text, Leaves: leaves, Shell: shell})
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
		{From: bridge.Codex, Method: "question", HandleServer: func(_ context.Context, said *bridge.ServerMessage) {
			method, _ := said.Root().Get("params").Get("method").Text()
			shown, ok := h.gate.Accepted(method, said.Root().Get("params").Get("params"))
			said.Line = nil
			h.peer.Notify("question/answered", map[string]any{"ok": ok, "shown": shown})
		}},
	}
}

// TestSessions plays testdata/sessions/gate-*.txt, each with what its name stands for.
func TestSessions(t *testing.T) {
	for name, set := range map[string]struct {
		approvals config.Approvals
		judge     *judge
		rules     []string // on record; nil: they are not looked at
	}{
		"answers":    {},
		"deaf":       {judge: &judge{deaf: true}},
		"late":       {approvals: config.Approvals{Timeout: config.Duration(time.Second)}},
		"limit":      {},
		"memory":     {approvals: config.Approvals{Remember: "session", TTL: config.Duration(time.Hour), Max: 8}},
		"shared":     {rules: []string{"accept approvals.shared", "deny approvals.shared"}},
		"turns":      {},
		"unrecorded": {judge: &judge{full: true}},
		"unlogged":   {approvals: config.Approvals{Remember: "session", TTL: config.Duration(time.Hour), Max: 8}, judge: &judge{broken: true}},
	} {
		t.Run(name, func(t *testing.T) {
			folder, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			j := set.judge
			if j == nil {
				j = &judge{}
			}
			j.folder = folder
			if set.approvals.Remember == "" {
				set.approvals.Remember = "off"
			}
			if set.approvals.Timeout == 0 {
				set.approvals.Timeout = config.Duration(time.Hour)
			}
			current := func() config.Approvals { return set.approvals }
			memory := approvals.NewMemory(approvals.MemoryOptions{Approvals: current, Store: func(context.Context) (*store.Store, error) {
				return nil, errors.New("there is none")
			}})
			g := gate.New(gate.Options{
				Approvals: current, Judge: j, Memory: memory, Record: j, Log: slog.New(slog.DiscardHandler),
				Limiter: approvals.NewLimiter(func() time.Duration { return 0 }), // all of it within a minute
			})
			c := bridgetest.Start(t, g, &hooks{gate: g})
			c.Bind("cwd", folder)
			text, err := os.ReadFile("../../testdata/sessions/gate-" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			c.Play(name, string(text))
			j.mu.Lock()
			defer j.mu.Unlock()
			if name == "answers" && !slices.ContainsFunc(j.allowed, func(text string) bool { return strings.Contains(text, `"command":`) }) {
				t.Errorf("of what was allowed is on record %q", j.allowed)
			}
			if set.rules != nil && !slices.Equal(j.rules, set.rules) {
				t.Errorf("on record is %q", j.rules)
			}
		})
	}
}
