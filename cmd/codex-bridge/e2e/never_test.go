//go:build linux

package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// neverConfig forbids never, and lets a person allow commands to leave the sandbox.
const neverConfig = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nescalation = \"ask\"\n"

var withoutQuestions = map[string]any{"granular": map[string]any{
	"sandbox_approval": false, "rules": false, "skill_approval": false, "request_permissions": false, "mcp_elicitations": false,
}}

// A client that wants no questions and accepts each lets nothing leave the sandbox, as with Codex alone,
// in each form of that wish, and also if another client opens the thread again. With questions the same commands leave.
func TestNeverIsNotLoosened(t *testing.T) {
	t.Parallel()
	for _, program := range []string{codexPath, proxyPath} {
		w := newWorld(t, options{config: neverConfig, codexConfig: mcpConfig("probe"), mute: "many"})
		argv := []string{program, "app-server"}
		a := w.newAcceptingEditor(argv...)
		bridged := program == proxyPath
		attack := func(name, thread string, turn map[string]any, leaves bool) {
			t.Helper()
			name = strings.ReplaceAll(name, " ", "-")
			asked := a.turnWith(thread, w.escalates("command-"+name), turn)
			output := w.lastToolOutput()
			a.turn(thread, "RUN: touch inside-"+name)
			asked = append(asked, a.turn(thread, "PATCH: "+filepath.Join(w.root, "patch-"+name)+"\nx")...)
			if w.hasFile("command-"+name) != leaves || w.hasFile("patch-"+name) != leaves || len(asked) != map[bool]int{true: 2}[leaves] || !w.hasFile("workspace/inside-"+name) {
				t.Errorf("%s, %s: command %v, patch %v, inside %v, questions %q; the model got %q", filepath.Base(program), name,
					w.hasFile("command-"+name), w.hasFile("patch-"+name), w.hasFile("workspace/inside-"+name), asked, output)
			}
			if bridged && !leaves && !strings.Contains(output, "this client wants no questions") {
				t.Errorf("%s: the model got %q", name, output)
			}
		}
		open := func(members map[string]any) string {
			members["sandbox"] = "workspace-write"
			return a.thread(members)
		}
		shows := func(result []byte) {
			t.Helper()
			if got := editor.Member(result, "approvalPolicy"); got != "never" {
				t.Errorf("%s: the client is shown the approval policy %s", filepath.Base(program), got)
			}
		}
		attack("on-request", open(map[string]any{"approvalPolicy": "on-request"}), nil, true)
		attack("overlay", open(map[string]any{"config": map[string]any{"approval_policy": "never"}}), nil, false)
		attack("granular", open(map[string]any{"approvalPolicy": withoutQuestions}), nil, false)
		later := open(map[string]any{"approvalPolicy": "on-request"})
		attack("turn", later, map[string]any{"approvalPolicy": "never"}, false)
		thread := open(map[string]any{"approvalPolicy": "never"})
		attack("start", thread, nil, false)
		if asked := a.turn(thread, `CALL: mcp__probe/touch {"path":"`+w.workspace+`/touched"}`); len(asked) > 0 || w.hasFile("workspace/touched") {
			t.Errorf("%s: the server's tool asks %q", filepath.Base(program), asked)
		}
		fork := a.must("thread/fork", map[string]any{"threadId": thread})
		shows(fork)
		attack("fork", editor.Member(fork, "thread", "id"), nil, false)
		a.closeAndWait()
		a = w.newAcceptingEditor(append(argv, "-c", `approval_policy="never"`)...)
		shows(a.must("thread/resume", map[string]any{"threadId": thread}))
		attack("resume", thread, nil, false)
		attack("command line", open(map[string]any{}), nil, false)
		attack("asked again", thread, map[string]any{"approvalPolicy": "on-request"}, true)
		a.closeAndWait()
	}
}

// Threads that Codex alone has stored are as strict when they are resumed or forked without an approval
// policy: with Codex alone, and behind the bridge where the policy forbids their value, or allows it but
// has another one first. Questions about a thread that has them still reach the client, and the bridge
// asks about each command of an on-request thread that it has no record of.
func TestStoredApprovalIsNotLoosened(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neverConfig, mute: "many"})
	for _, run := range []struct {
		name, approvals string
		argv            []string
	}{
		{"alone", "", []string{codexPath, "app-server"}},
		{"forbidden", `["on-request"]`, proxyArgv},
		{"allowed", `["on-request", "never", "untrusted"]`, proxyArgv},
	} {
		a, threads := w.newAcceptingEditor(codexPath, "app-server"), map[string]string{}
		for _, approval := range []string{"never", "on-request", "untrusted"} {
			threads[approval] = a.thread(map[string]any{"approvalPolicy": approval, "sandbox": "workspace-write"})
			a.turn(threads[approval], "Hello.")
		}
		a.closeAndWait()
		w.write("config.toml", strings.Replace(neverConfig, `["on-request"]`, run.approvals, 1)+withLongGrace(neverConfig))
		a = w.newAcceptingEditor(run.argv...)
		for approval, thread := range threads {
			fork := editor.Member(a.must("thread/fork", map[string]any{"threadId": thread}), "thread", "id")
			a.must("thread/resume", map[string]any{"threadId": thread})
			for how, id := range map[string]string{"resumed": thread, "forked": fork} {
				file := strings.Join([]string{run.name, how, approval}, "-") // an accepted command is not asked about again
				inside, outside := a.turn(id, "RUN: touch "+file), a.turn(id, w.escalates(file))
				eachCommand := approval == "untrusted" || approval == "on-request" && run.approvals != ""
				if (len(inside) > 0) != eachCommand || (len(outside) > 0) != (approval != "never") || w.hasFile(file) != (approval != "never") {
					t.Errorf("%s: questions %q and %q, outside %v; the model got %q", file, inside, outside, w.hasFile(file), w.lastToolOutput())
				}
			}
		}
		a.closeAndWait()
	}
}

// Where the policy asks before each command, a client without questions gets a refusal with the reason.
// A command that a rule allows runs.
func TestNeverUnderTheGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: strings.Replace(neverConfig, "on-request", "untrusted", 1) + "[[policy.rule]]\ncommand = \"touch allowed\"\ndecision = \"allow\"\n"})
	a := w.newAcceptingEditor(proxyArgv...)
	result := a.must("thread/start", map[string]any{"cwd": w.workspace, "approvalPolicy": "never", "sandbox": "workspace-write"})
	if shown := editor.Member(result, "approvalPolicy"); shown != "never" {
		t.Errorf("the client is shown %s", shown)
	}
	thread := editor.Member(result, "thread", "id")
	asked := a.turn(thread, "RUN: touch other")
	output := w.lastToolOutput()
	asked = append(asked, a.turn(thread, "RUN: touch allowed")...)
	if len(asked) > 0 || w.hasFile("workspace/other") || !w.hasFile("workspace/allowed") {
		t.Errorf("questions %q, other %v, allowed %v", asked, w.hasFile("workspace/other"), w.hasFile("workspace/allowed"))
	}
	for _, want := range []string{"the policy asks before each command (policy.approval", "this client wants no questions", `put "on-request" first`} {
		if !strings.Contains(output, want) {
			t.Errorf("the model got %q, without %q", output, want)
		}
	}
	a.closeAndWait()
}
