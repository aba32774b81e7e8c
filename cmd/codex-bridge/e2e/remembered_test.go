//go:build linux

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/bridge/userrules"
	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
	"codex-bridge.example/relay/approvals"
)

// rememberConfig allows by rule, remembers permanently, and asks the user about escalations.
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

// addGrant writes a lasting grant of a command in the workspace, in the form of Codex's question.
func (w *world) addGrant(command string) {
	w.t.Helper()
	ctx := deadline(w.t)
	s, err := store.Open(ctx, store.Options{Folder: w.state})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := config.Default().Approvals
	cfg.Remember = string(approvals.Always)
	memory := approvals.NewMemory(approvals.MemoryOptions{
		Approvals: func() config.Approvals { return cfg },
		Store:     func(context.Context) (approvals.Store, error) { return s, nil },
	})
	key, err := approvals.NewKey(approvals.Request{
		Provider: "codex", Session: "any", Workspace: w.workspace, Tool: "Bash", Cwd: w.workspace, Sandbox: "read-only",
		Input: []byte(marshal(w.t, map[string]string{"command": "/bin/bash -lc '" + command + "'"})),
		Terms: policy.CodexRuleTerms(command, new(userrules.Reader).Read(filepath.Join(w.home, "rules"))),
	})
	if err == nil {
		_, err = memory.Remember(ctx, key, approvals.Always, approvals.Origin{Client: "a person", What: command})
	}
	if err := errors.Join(err, s.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// expectOneQuestion runs one turn that must ask the user once, with the escalation in the question.
func (a *acceptingEditor) expectOneQuestion(name, thread, text string) {
	a.t.Helper()
	asked := a.turn(thread, text)
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "[codex-bridge: leaves the sandbox] ") {
		a.t.Errorf("%s, %s: questions %q", name, text, asked)
	}
}

// An escalation without a reason needs the user's consent each time. A rule that allows the
// command, a grant, the user's last answer and the way of opening the thread have no effect.
func TestEscalationRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: rememberConfig})
	w.write("home/rules/default.rules", "prefix_rule(pattern=[\"mkdir\"], decision=\"prompt\")\n")
	granted := "mkdir " + filepath.Join(w.root, "granted")
	w.addGrant(granted)
	tries := func(a *acceptingEditor, thread, name string) {
		t.Helper()
		if asked := a.turn(thread, "RUN: "+granted); len(asked) > 0 || !strings.Contains(w.lastToolOutput(), "Process exited with code 1") {
			t.Errorf("%s: granted in the sandbox: questions %q, the model got %q", name, asked, w.lastToolOutput())
		}
		a.expectOneQuestion(name, thread, fmt.Sprintf(`CALL: exec_command {"cmd":%q,"sandbox_permissions":"require_escalated"}`, granted))
		for range 2 {
			a.expectOneQuestion(name, thread, w.escalates("ruled"))
			a.expectOneQuestion(name, thread, `CALL: exec_command {"cmd":"true","sandbox_permissions":"require_escalated"}`)
		}
	}
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(confined)
	tries(a, thread, "fresh")
	tries(a, editor.Member(a.must("thread/fork", map[string]any{"threadId": thread, "approvalPolicy": "on-request", "sandbox": "read-only"}), "thread", "id"), "forked")
	a.closeAndWait()
	a = w.newAcceptingEditor(proxyArgv...)
	a.resume(thread, map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	tries(a, thread, "resumed")
	if !w.hasFile("granted") || !w.hasFile("ruled") {
		t.Error("the accepted command did not leave the sandbox")
	}
	a.closeAndWait()
}

// In code mode an escalation of a command is not visible: the user accepts each command.
func TestEscalationRememberedInCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: rememberConfig})
	w.write("home/rules/default.rules", "prefix_rule(pattern=[\"mkdir\"], decision=\"prompt\")\nprefix_rule(pattern=[\"touch\"], decision=\"prompt\")\n")
	granted := "mkdir " + filepath.Join(w.root, "granted")
	w.addGrant(granted)
	commands := []string{
		fmt.Sprintf(`{cmd:%q,sandbox_permissions:"require_escalated"}`, granted),
		fmt.Sprintf(`{cmd:%q}`, granted),
		fmt.Sprintf(`{cmd:%q,sandbox_permissions:"require_escalated"}`, "touch "+filepath.Join(w.root, "ruled")),
		fmt.Sprintf(`{cmd:%q}`, "touch "+filepath.Join(w.root, "inside")),
	}
	code := func(a *acceptingEditor, thread, name string) {
		t.Helper()
		for _, command := range commands {
			w.model.Add(scripted.Step{When: "CODE", Reply: scripted.Reply{scripted.CustomCall{
				Tool: "exec", Input: "text(JSON.stringify(await tools.exec_command(" + command + ")))",
			}}})
			a.expectOneQuestion(name+", "+command, thread, "CODE")
		}
	}
	params := map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only", "model": "gpt-5.6-sol"}
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(params)
	code(a, thread, "fresh")
	a.closeAndWait()
	a = w.newAcceptingEditor(proxyArgv...)
	a.resume(thread, params)
	code(a, thread, "resumed")
	if !w.hasFile("granted") || !w.hasFile("ruled") || w.hasFile("inside") {
		t.Error("the accepted command did not leave the sandbox, or another one did")
	}
	a.closeAndWait()
}

// With granular approval and sandbox_approval, Codex offers to run a failed command again outside
// the sandbox, and asks only about that.
var granular = map[string]any{
	"approvalPolicy": map[string]any{"granular": map[string]any{"sandbox_approval": true, "rules": true, "mcp_elicitations": true}},
	"sandbox":        "read-only",
}

// retryUntilOffered makes the model run a failing command until Codex offers to run it again. Codex
// does so only for commands that end within a tenth of a second (measured), which a busy machine
// may miss.
func (a *acceptingEditor) retryUntilOffered(thread, text string, offered func(asked []string) bool) {
	a.t.Helper()
	for !offered(a.turn(thread, text)) {
		if a.ctx.Err() != nil {
			a.t.Fatalf("Codex does not offer a retry; the model got %q", a.world.lastToolOutput())
		}
	}
}

// retried is the start of the reason in the question.
const retried = "[codex-bridge: leaves the sandbox] it failed in the sandbox"

// No rule and no grant accepts the retry.
func TestRetryOutsideSandboxAsks(t *testing.T) {
	t.Parallel()
	for _, escalation := range []string{"deny", "ask"} {
		t.Run(escalation, func(t *testing.T) {
			t.Parallel()
			config := strings.Replace(rememberConfig, `"ask"`, `"`+escalation+`"`, 1)
			w := newWorld(t, options{config: strings.Replace(config, `"untrusted"]`, `"granular"]`, 1)})
			ruled := "touch " + filepath.Join(w.root, "ruled")
			granted := "mkdir " + filepath.Join(w.root, "granted")
			w.addGrant(granted)
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(granular)
			for _, command := range []string{ruled, granted} {
				a.retryUntilOffered(thread, "RUN: "+command, func(asked []string) bool {
					if escalation == "deny" && len(asked) > 0 || escalation == "ask" && len(asked) > 0 && !strings.HasPrefix(asked[0], retried) {
						t.Errorf("%s: questions %q", command, asked)
					}
					return len(asked) > 0 || strings.Contains(w.lastToolOutput(), "rejected by user")
				})
			}
			if out := escalation == "ask"; w.hasFile("ruled") != out || w.hasFile("granted") != out {
				t.Errorf("left: %t by rule, %t by grant; wanted %t", w.hasFile("ruled"), w.hasFile("granted"), out)
			}
			a.closeAndWait()
		})
	}
}

// A lasting yes counts for one sandbox. In one with more permissions the bridge asks again.
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
	a := w.newAcceptingEditor(proxyArgv...)
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
		turn, mark := a.startTurnWith(thread, "RUN: true", more)
		a.waitTurn(thread, turn, mark)
		a.mu.Lock()
		if len(a.reasons) != step.asked {
			t.Errorf("step %d: questions %q", i, a.reasons)
		}
		a.mu.Unlock()
	}
	a.closeAndWait()
}

// A remembered answer counts in each thread with the same effective sandbox, also if another field
// of the request gave it: a thread that was started with a sandbox is resumed without one.
func TestGrantCountsAfterResumeWithoutSandbox(t *testing.T) {
	t.Parallel()
	for _, sandbox := range []string{"workspace-write", "read-only"} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n[[policy.rule]]\ncommand = \"cat **\"\ndecision = \"ask\"\n[approvals]\nremember = \"always\"\n"})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": sandbox})
			if asked := a.turn(thread, "RUN: cat a"); len(asked) != 1 {
				t.Errorf("questions %q", asked)
			}
			a.closeAndWait()
			for _, params := range []map[string]any{{}, {"sandbox": sandbox}} {
				a = w.newAcceptingEditor(proxyArgv...)
				params["threadId"] = thread
				a.must("thread/resume", params)
				if asked := a.turn(thread, "RUN: cat a"); len(asked) != 0 {
					t.Errorf("resumed with %v: questions %q", params, asked)
				}
				a.closeAndWait()
			}
			if list, _, _ := w.runCommand("grants", "list"); strings.Count(list, "cat a") != 1 {
				t.Errorf("grants:\n%s", list)
			}
		})
	}
}

// A lasting yes does not answer a rule that was added later, after a restart and in a running bridge. It answers the
// same rule after a restart, also at another place of the file.
func TestLaterAskRuleAsks(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n[approvals]\nremember = \"always\"\n"
	const rule = "[[policy.rule]]\ncommand = \"echo **\"\ndecision = \"ask\"\n"
	w := newWorld(t, options{config: config})
	a := w.newAcceptingEditor(proxyArgv...)
	expect := func(when string, questions int) {
		t.Helper()
		thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
		if asked := a.turn(thread, "RUN: echo z"); len(asked) != questions {
			t.Errorf("%s: questions %q", when, asked)
		}
	}
	restart := func(config string) {
		t.Helper()
		a.closeAndWait()
		w.write("config.toml", config)
		a = w.newAcceptingEditor(proxyArgv...)
	}
	expect("first", 1)
	restart(config)
	expect("after a restart", 0)
	restart(config + rule)
	expect("with a rule", 1)
	restart(config + "[[policy.rule]]\ncommand = \"true\"\ndecision = \"allow\"\n" + rule)
	expect("with the rule at another place", 0)
	other := strings.Replace(rule, "echo **", "echo z", 1)
	restart(config + rule + other)
	expect("with two rules, of which the first decides", 0)
	w.write("config.toml", config+other+rule+"[policy.methods]\n\"model/list\" = \"deny\"\n")
	for _, err := a.Call(a.ctx, "model/list", map[string]any{}); err == nil; _, err = a.Call(a.ctx, "model/list", map[string]any{}) {
		time.Sleep(20 * time.Millisecond)
	}
	expect("with another rule", 1)
	a.closeAndWait()
}

// A lasting yes does not answer a prompt rule for Codex that was added later. With Codex alone the rule asks.
func TestLaterPromptRuleOfCodexAsks(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]struct {
		config, approval string
		argv             []string
		asked            []int // with no rule, after a restart, with the rule, and after a restart
	}{
		"untrusted":   {"[policy]\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n[approvals]\nremember = \"always\"\n", "untrusted", proxyArgv, []int{1, 0, 1, 0}},
		"on-request":  {"[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"ask\"\n[approvals]\nremember = \"always\"\n", "on-request", proxyArgv, []int{1, 0, 1, 0}},
		"Codex alone": {"", "on-request", []string{codexPath, "app-server"}, []int{0, 0, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: run.config})
			for i, want := range run.asked {
				if i == 2 {
					w.write("home/rules/own.rules", "prefix_rule(pattern=[\"touch\"], decision=\"prompt\")\n")
				}
				a := w.newAcceptingEditor(run.argv...)
				thread := a.thread(map[string]any{"approvalPolicy": run.approval, "sandbox": "workspace-write"})
				if asked := a.turn(thread, "RUN: touch z"); len(asked) != want {
					t.Errorf("run %d: questions %q", i, asked)
				}
				a.closeAndWait()
			}
		})
	}
}
