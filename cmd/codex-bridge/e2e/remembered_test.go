//go:build linux

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/store"
	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
	"codex-bridge/relay/approvals"
)

// rememberConfig allows by rule, remembers for good, and has the person asked about
// what leaves the sandbox.
const rememberConfig = `
[policy]
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
escalation = "ask"
[[policy.rule]]
command = "touch **"
decision = "allow"
[approvals]
remember = "always"
`

// grant puts into the state that a command is allowed for good in the workspace, by
// the words that codex asks with.
func (w *world) grant(command string) {
	w.t.Helper()
	ctx := deadline(w.t)
	s, err := store.Open(ctx, store.Options{Folder: filepath.Join(w.root, "state")})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := config.Default().Approvals
	cfg.Remember = string(approvals.Always)
	memory := approvals.NewMemory(approvals.MemoryOptions{
		Approvals: func() config.Approvals { return cfg },
		Store:     func(context.Context) (*store.Store, error) { return s, nil },
	})
	key, err := approvals.NewKey(approvals.Request{
		Provider: "codex", Session: "any", Workspace: w.workspace, Tool: "Bash", Cwd: w.workspace, Sandbox: "read-only",
		Input: []byte(marshal(w.t, map[string]string{"command": "/bin/bash -lc '" + command + "'"})),
	})
	if err == nil {
		_, err = memory.Remember(ctx, key, approvals.Always, approvals.Origin{Client: "a person", What: command})
	}
	if err := errors.Join(err, s.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// alone has the model do one thing about which the person has to be asked, once, and
// told that it leaves the sandbox.
func (a *agreeable) alone(name, thread, text string) {
	a.t.Helper()
	asked := a.turn(thread, text)
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "[codex-bridge: leaves the sandbox] ") {
		a.t.Errorf("%s, %s: asked %q", name, text, asked)
	}
}

// A model that asks to leave the sandbox and gives no reason gets no consent but the
// person's, each time: a rule that allows the command, a grant that remembers it, and
// whatever the person said the last time count for nothing; nor does how the thread
// was opened.
func TestEscalationRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: rememberConfig})
	w.write("home/rules/default.rules", "prefix_rule(pattern=[\"mkdir\"], decision=\"prompt\")\n")
	granted := "mkdir " + filepath.Join(w.root, "granted")
	w.grant(granted)
	tries := func(a *agreeable, thread, name string) {
		t.Helper()
		if asked := a.turn(thread, "RUN: "+granted); len(asked) > 0 || !strings.Contains(w.told(), "Process exited with code 1") {
			t.Errorf("%s: of what is granted inside of the sandbox the editor was asked %q, and the model told %q", name, asked, w.told())
		}
		a.alone(name, thread, fmt.Sprintf(`CALL: exec_command {"cmd":%q,"sandbox_permissions":"require_escalated"}`, granted))
		for range 2 {
			a.alone(name, thread, w.escalates("ruled"))
			a.alone(name, thread, `CALL: exec_command {"cmd":"true","sandbox_permissions":"require_escalated"}`)
		}
	}
	a := w.agreeable(proxyArgv...)
	thread := a.thread(confined)
	tries(a, thread, "fresh")
	tries(a, editor.Member(a.must("thread/fork", map[string]any{"threadId": thread, "approvalPolicy": "on-request", "sandbox": "read-only"}), "thread", "id"), "forked")
	a.quit()
	a = w.agreeable(proxyArgv...)
	a.resume(thread, map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	tries(a, thread, "resumed")
	if !w.left("granted") || !w.left("ruled") {
		t.Error("what the person accepted did not leave the sandbox")
	}
	a.quit()
}

// So it is in code mode, where nobody can say whether a command asked to leave: each
// is the person's to accept.
func TestEscalationRememberedInCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: rememberConfig})
	w.write("home/rules/default.rules", "prefix_rule(pattern=[\"mkdir\"], decision=\"prompt\")\nprefix_rule(pattern=[\"touch\"], decision=\"prompt\")\n")
	granted := "mkdir " + filepath.Join(w.root, "granted")
	w.grant(granted)
	commands := []string{
		fmt.Sprintf(`{cmd:%q,sandbox_permissions:"require_escalated"}`, granted),
		fmt.Sprintf(`{cmd:%q}`, granted),
		fmt.Sprintf(`{cmd:%q,sandbox_permissions:"require_escalated"}`, "touch "+filepath.Join(w.root, "ruled")),
		fmt.Sprintf(`{cmd:%q}`, "touch "+filepath.Join(w.root, "inside")),
	}
	code := func(a *agreeable, thread, name string) {
		t.Helper()
		for _, command := range commands {
			w.model.Add(scripted.Step{When: "CODE", Reply: scripted.Reply{scripted.CustomCall{
				Tool: "exec", Input: "text(JSON.stringify(await tools.exec_command(" + command + ")))",
			}}})
			a.alone(name+", "+command, thread, "CODE")
		}
	}
	params := map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only", "model": "gpt-5.6-sol"}
	a := w.agreeable(proxyArgv...)
	thread := a.thread(params)
	code(a, thread, "fresh")
	a.quit()
	a = w.agreeable(proxyArgv...)
	a.resume(thread, params)
	code(a, thread, "resumed")
	if !w.left("granted") || !w.left("ruled") || w.left("inside") {
		t.Error("what the person accepted did not leave the sandbox, or what did not ask for it did")
	}
	a.quit()
}

// Under granular approval with sandbox_approval Codex has what failed in the sandbox
// run again outside of it, and asks about that alone.
var granular = map[string]any{
	"approvalPolicy": map[string]any{"granular": map[string]any{"sandbox_approval": true, "rules": true, "mcp_elicitations": true}},
	"sandbox":        "read-only",
}

// again has the model try what fails in the sandbox until codex offers to run it again.
// It does so only where the command ends within a tenth of a second (measured), which
// on a busy machine it may not.
func (a *agreeable) again(thread, text string, offered func(asked []string) bool) {
	a.t.Helper()
	for !offered(a.turn(thread, text)) {
		if a.ctx.Err() != nil {
			a.t.Fatalf("codex does not offer to run it again; the model was told %q", a.world.told())
		}
	}
}

// retried begins the reason that the person is shown then.
const retried = "[codex-bridge: leaves the sandbox] it has failed in the sandbox"

// No rule and no grant accepts that.
func TestRetry(t *testing.T) {
	t.Parallel()
	for _, escalation := range []string{"deny", "ask"} {
		t.Run(escalation, func(t *testing.T) {
			t.Parallel()
			config := strings.Replace(rememberConfig, `"ask"`, `"`+escalation+`"`, 1)
			w := newWorld(t, options{config: strings.Replace(config, `"untrusted"]`, `"granular"]`, 1)})
			ruled := "touch " + filepath.Join(w.root, "ruled")
			granted := "mkdir " + filepath.Join(w.root, "granted")
			w.grant(granted)
			a := w.agreeable(proxyArgv...)
			thread := a.thread(granular)
			for _, command := range []string{ruled, granted} {
				a.again(thread, "RUN: "+command, func(asked []string) bool {
					if escalation == "deny" && len(asked) > 0 || escalation == "ask" && len(asked) > 0 && !strings.HasPrefix(asked[0], retried) {
						t.Errorf("%s: the editor was asked %q", command, asked)
					}
					return len(asked) > 0 || strings.Contains(w.told(), "rejected by user")
				})
			}
			if out := escalation == "ask"; w.left("ruled") != out || w.left("granted") != out {
				t.Errorf("left: %t by rule, %t by grant; wanted %t", w.left("ruled"), w.left("granted"), out)
			}
			a.quit()
		})
	}
}

// A yes that lasts was given for one sandbox. In one that allows more the person is asked
// again.
func TestGrantsAreOfOneSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: `
[policy]
approval = ["untrusted"]
sandbox = "workspace-write"
network = true
[approvals]
remember = "session"
`})
	a := w.agreeable(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	for i, step := range []struct {
		sandbox map[string]any
		asked   int
	}{
		{nil, 1}, {nil, 0},
		{map[string]any{"type": "workspaceWrite"}, 1}, {nil, 0},
		{map[string]any{"type": "workspaceWrite", "networkAccess": true}, 1}, {nil, 0},
		{map[string]any{"type": "workspaceWrite", "networkAccess": true, "excludeSlashTmp": true}, 1},
		{map[string]any{"type": "readOnly"}, 0},
	} {
		more := map[string]any{}
		if step.sandbox != nil {
			more["sandboxPolicy"] = step.sandbox
		}
		a.mu.Lock()
		a.reasons = nil
		a.mu.Unlock()
		turn, mark := a.beginWith(thread, "RUN: true", more)
		a.end(thread, turn, mark)
		a.mu.Lock()
		if len(a.reasons) != step.asked {
			t.Errorf("step %d: asked %q", i, a.reasons)
		}
		a.mu.Unlock()
	}
	a.quit()
}
