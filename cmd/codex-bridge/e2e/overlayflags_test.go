//go:build linux

package e2e_test

import (
	"slices"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// opensAs opens a thread and returns its id, and its approval policy and sandbox as the client sees them.
func (a *acceptingEditor) opensAs(method string, params map[string]any) (thread, settings string) {
	a.t.Helper()
	result := a.must(method, params)
	return editor.Member(result, "thread", "id"), editor.Member(result, "approvalPolicy") + " " + editor.Member(result, "sandbox", "type")
}

// callsTool has the model call a tool of an MCP server, and returns how many questions that took.
func (a *acceptingEditor) callsTool(thread string) int {
	a.t.Helper()
	a.mu.Lock()
	before := len(a.reasons)
	a.mu.Unlock()
	a.turn(thread, `CALL: mcp__probe/touch {"path":"`+a.workspace+`/touched"}`)
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.reasons) - before
}

// A stricter value in a client's overlay or on the command line counts with the bridge as without it, where
// the user's configuration and the policy allow everything: in the order in which Codex takes them, in new
// and stored threads. A value that Codex refuses opens no thread.
func TestOverlayBesideFlags(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"Codex alone": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{
				config:      "[policy]\napproval = [\"on-request\", \"never\"]\nsandbox = \"danger-full-access\"\nnetwork = true\n",
				codexConfig: "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n" + mcpConfig("probe"),
			})
			writes := map[string]any{"sandbox_mode": "workspace-write"}
			check := func(what, got, want string) {
				t.Helper()
				if got != want {
					t.Errorf("%s: %s, want %s", what, got, want)
				}
			}
			a := w.newAcceptingEditor(append(slices.Clip(argv), "-c", `default_permissions=":read-only"`)...)
			_, got := a.opensAs("thread/start", map[string]any{"config": writes})
			check("the flag beside the overlay", got, "never readOnly")
			free := map[string]any{"sandbox": "danger-full-access"}
			thread, got := a.opensAs("thread/start", free)
			check("the user's configuration", got, "never dangerFullAccess")
			if asked := a.callsTool(thread); asked != 0 {
				t.Errorf("%d questions under never", asked)
			}
			free["config"] = map[string]any{"approval_policy": "on-request"}
			asking, got := a.opensAs("thread/start", free)
			check("the overlay's approval policy", got, "on-request dangerFullAccess")
			if asked := a.callsTool(asking); asked != 1 {
				t.Errorf("%d questions by the overlay's approval policy", asked)
			}
			for _, config := range []map[string]any{{"profile": "strict"}, {"sandbox_mode": nil}, {"approvals_reviewer": "strict"}} {
				a.mustFail("thread/start", map[string]any{"config": config})
			}
			a.closeAndWait()
			a = w.newAcceptingEditor(append(slices.Clip(argv), "-c", `default_permissions=":read-only"`, "-c", `approval_policy="on-request"`)...)
			for _, method := range []string{"thread/fork", "thread/resume"} {
				_, got = a.opensAs(method, map[string]any{"threadId": thread, "config": writes})
				check(method, got, "never readOnly")
			}
			_, got = a.opensAs("thread/start", map[string]any{})
			check("both flags", got, "on-request readOnly")
			a.closeAndWait()
		})
	}
}

// Under a policy of never and full access, a client that wants questions is asked about tools of MCP servers,
// as with Codex alone.
func TestNeverDoesNotRunToolsUnasked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\napproval = [\"never\"]\nsandbox = \"danger-full-access\"\nnetwork = true\nescalation = \"ask\"\n", codexConfig: mcpConfig("probe")})
	a := w.newAcceptingEditor(proxyArgv...)
	for want, approval := range []string{"never", "on-request"} {
		thread := a.thread(map[string]any{"approvalPolicy": approval, "sandbox": "danger-full-access"})
		if asked := a.callsTool(thread); asked != want {
			t.Errorf("%s: %d questions, the model got %q", approval, asked, a.lastToolOutput())
		}
	}
	a.closeAndWait()
}
