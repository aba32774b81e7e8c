package core

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// A changed on_failure applies to the next thread, like the rest of a changed configuration, even
// if the socket exists.
func TestOnFailureAppliesToNextThread(t *testing.T) {
	h, _, _ := newTestHooks(t)
	for _, onFailure := range []string{"allow", "deny", "allow"} {
		changed := config.Default()
		changed.Hooks.On, changed.Hooks.OnFailure = true, onFailure
		h.SetConfig(changed)
		plan, err := h.plan(rpc.Value{})
		if err != nil {
			t.Fatal(err)
		}
		if allows := strings.Contains(plan.Command(hook.PreToolUse), "--on-failure allow"); allows != (onFailure == "allow") {
			t.Errorf("on_failure %s: %s", onFailure, plan.Command(hook.PreToolUse))
		}
	}
}

// Between the change of the policy and that of the other sections, a thread that opens under the enforced policy
// has the hooks.
func TestHooksOfNewPolicyBeforeOtherSections(t *testing.T) {
	h, shared, _ := newTestHooks(t)
	if plan, err := h.plan(rpc.Value{}); plan != nil || err != nil {
		t.Fatalf("without a policy: %v, %v", plan, err)
	}
	enforced := config.Default().Policy
	enforced.Mode = config.Enforce
	p, err := policy.New(enforced, nil)
	if err != nil {
		t.Fatal(err)
	}
	shared.Guard.SetPolicy(p)
	plan, err := h.plan(rpc.Value{})
	if err != nil || plan == nil || plan.Command(hook.PreToolUse) == "" {
		t.Errorf("under the new policy: %v, %v", plan, err)
	}
}

// testState keeps the decisions of a test, and nothing else.
type testState struct {
	guard.GateRecord
	decisions []decision.Record
}

func (s *testState) Append(_ context.Context, d decision.Record) error {
	s.decisions = append(s.decisions, d)
	return nil
}

func (s *testState) Grants(context.Context) (approvals.Store, error) {
	return nil, errors.ErrUnsupported
}

// newTestHooks returns the hooks of a client without a policy, and what it shares with others.
func newTestHooks(t *testing.T) (*Hooks, *Shared, *testState) {
	t.Helper()
	t.Setenv("CODEX_BRIDGE_STATE", filepath.Join(t.TempDir(), "state"))
	t.Setenv("XDG_RUNTIME_DIR", "")
	log, state := slog.New(slog.DiscardHandler), new(testState)
	shared, err := NewShared(SharedOptions{Config: config.Default(), State: state, Untested: func(*codex.Program) string { return "" }, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { CloseTogether(shared.Parts()) })
	return newHooks(shared, shared.Guard, hello.New("", nil, shared.Guard, log), ConversationOptions{Log: log, HooksChanged: func() {}}), shared, state
}

// A call whose input the policy can't read is denied, and the decision log has it.
func TestUnreadableInputIsLogged(t *testing.T) {
	h, shared, state := newTestHooks(t)
	enforced := config.Default().Policy
	enforced.Mode = config.Enforce
	p, err := policy.New(enforced, nil)
	if err != nil {
		t.Fatal(err)
	}
	shared.Guard.SetPolicy(p)
	call := &hook.Call{Event: hook.PreToolUse, SessionID: "t", ToolName: "Bash", ToolUseID: "c", ToolInput: []byte(`{"command":"a","command":"b"}`)}
	if h.rules(t.Context(), call).Refusal == "" {
		t.Error("the call is not denied")
	}
	var denied []string
	for _, d := range state.decisions {
		denied = append(denied, d.Verdict+" "+d.Method)
	}
	if want := []string{"deny hook/preToolUse"}; !slices.Equal(denied, want) {
		t.Errorf("the decision log has %q, want %q", denied, want)
	}
}
