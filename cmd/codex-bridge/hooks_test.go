package main

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// A changed on_failure applies to the next thread, like the rest of a changed configuration, even
// if the socket exists.
func TestOnFailureAppliesToNextThread(t *testing.T) {
	h, _ := newTestHooks(t)
	for _, onFailure := range []string{"allow", "deny", "allow"} {
		changed := config.Default()
		changed.Hooks.On, changed.Hooks.OnFailure = true, onFailure
		h.setConfig(changed)
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
	h, shared := newTestHooks(t)
	if plan, err := h.plan(rpc.Value{}); plan != nil || err != nil {
		t.Fatalf("without a policy: %v, %v", plan, err)
	}
	enforced := config.Default().Policy
	enforced.Mode = config.Enforce
	p, err := policy.New(enforced, nil)
	if err != nil {
		t.Fatal(err)
	}
	shared.guard.SetPolicy(p)
	plan, err := h.plan(rpc.Value{})
	if err != nil || plan == nil || plan.Command(hook.PreToolUse) == "" {
		t.Errorf("under the new policy: %v, %v", plan, err)
	}
}

// newTestHooks returns the hooks of a client without a policy, and what it shares with others.
func newTestHooks(t *testing.T) (*hooks, *sharedParts) {
	t.Helper()
	t.Setenv("CODEX_BRIDGE_STATE", filepath.Join(t.TempDir(), "state"))
	t.Setenv("XDG_RUNTIME_DIR", "")
	log := slog.New(slog.DiscardHandler)
	cfg := config.Default()
	shared, err := newSharedParts(cfg, "", codex.Command{}, newLedger(cfg), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeTogether(shared.parts()) })
	h, _ := newHooks(cfg, shared, shared.guard, hello.New(Version, nil, shared.guard, log), nil, log)
	return h, shared
}

// A call whose input the policy can't read is denied, and the decision log has it.
func TestUnreadableInputIsLogged(t *testing.T) {
	h, shared := newTestHooks(t)
	enforced := config.Default().Policy
	enforced.Mode = config.Enforce
	p, err := policy.New(enforced, nil)
	if err != nil {
		t.Fatal(err)
	}
	shared.guard.SetPolicy(p)
	call := &hook.Call{Event: hook.PreToolUse, SessionID: "t", ToolName: "Bash", ToolUseID: "c", ToolInput: []byte(`{"command":"a","command":"b"}`)}
	if h.rules(t.Context(), call).Refusal == "" {
		t.Error("the call is not denied")
	}
	log, err := shared.record.store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var denied []string
	for entry, err := range log.Decisions(t.Context(), store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		denied = append(denied, entry.Verdict+" "+entry.Method)
	}
	if want := []string{"deny hook/preToolUse"}; !slices.Equal(denied, want) {
		t.Errorf("the decision log has %q, want %q", denied, want)
	}
}
