//go:build linux

package e2e_test

import (
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// A valid change of the configuration applies to the next request; an invalid one keeps the old
// policy.
func TestReloadAppliesToNextRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"audit\"\nsandbox = \"read-only\"\napproval = [\"untrusted\"]\n"})
	e := w.start(proxyArgv, editor.Options{})
	ctx := deadline(t)
	if _, err := e.Initialize(ctx, nil); err != nil {
		t.Fatal(err)
	}
	// A request sent during a change gets the response of the old or the new policy.
	approval := func() string {
		t.Helper()
		answer, err := e.Call(ctx, "thread/start", map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "read-only"})
		if err != nil {
			t.Fatal(err)
		}
		return editor.Member(answer, "approvalPolicy")
	}
	// until waits for the watcher, whose delay depends on the system.
	until := func(what string, done func() bool) {
		t.Helper()
		for !done() {
			select {
			case <-ctx.Done():
				t.Fatalf("%s; stderr:\n%s", what, e.Stderr())
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	if got := approval(); got != "on-request" {
		t.Fatalf("under audit Codex reports %s", got)
	}
	w.write("config.toml", "[policy]\nmode = \"enforce\"\nsandbox = \"read-only\"\napproval = [\"untrusted\"]\n")
	until("the change is not effective", func() bool { return approval() == "untrusted" })
	w.write("config.toml", "[policy]\nmode = \"of\"\n")
	until("the fault is not reported", func() bool { return strings.Contains(e.Stderr(), "the old policy stays") })
	if got := approval(); got != "untrusted" {
		t.Errorf("with an invalid configuration Codex reports %s", got)
	}
}
