//go:build linux

package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/internal/editor"
)

const strictPolicyFile = `
[policy]
sandbox = "read-only"
escalation = "deny"
[policy.methods]
"thread/archive" = "deny"
[acp]
enabled = false
`

// joinedIn returns an editor that knows the bridge and has joined the shared Codex from a folder.
func (w *world) joinedIn(folder string) *conversation {
	w.t.Helper()
	start := w.workspace
	w.workspace = folder
	defer func() { w.workspace = start }()
	return w.open(proxyArgv...).initializeWithBridge()
}

// All sections of the policy files of a client's start folder count, as in a Codex of its own, also for its
// threads in other folders. Clients with the same policy files share a Codex.
func TestPolicyFilesOfStartFolder(t *testing.T) {
	t.Parallel()
	const agent = "[acp.agents.e]\ncommand = [\"/bin/true\"]\n"
	for mode, config := range map[string]string{"shared": hubConfig, "own": strings.Replace(hubConfig, "require", "off", 1)} {
		w := newHubWorld(t, config+agent)
		folder := w.root + "/strict"
		if err := os.MkdirAll(folder+"/below", 0o700); err != nil {
			t.Fatal(err)
		}
		w.write("strict/.codex-bridge.toml", strictPolicyFile)
		lax, strict := w.joinedIn(w.workspace), w.joinedIn(folder)
		for c, sandbox := range map[*conversation]string{lax: "workspaceWrite", strict: "readOnly"} {
			isLax := c == lax
			started := c.must("thread/start", map[string]any{"sandbox": "workspace-write", "cwd": w.workspace})
			if got := editor.Member(started, "sandbox", "type"); got != sandbox {
				t.Errorf("%s: the sandbox is %s, not %s", mode, got, sandbox)
			}
			thread := editor.Member(started, "thread", "id")
			file, turn, mark := c.escalate(thread, "escaped-"+sandbox)
			if isLax {
				if err := c.Reply(c.waitFor(mark, commandApproval, nil), decision("accept")); err != nil {
					t.Fatal(err)
				}
			}
			if c.waitTurn(thread, turn, mark); exists(file) != isLax {
				t.Errorf("%s, %s: a command has left the sandbox: %v", mode, sandbox, exists(file))
			}
			if !isLax {
				c.mustFail("thread/archive", map[string]any{"threadId": thread})
			}
			spawned, err := c.Call(c.ctx, "bridge/acp/spawn", map[string]any{"task": "x", "agentId": "e", "cwd": w.workspace})
			if runs := strings.Contains(string(spawned), "/bin/true"); runs != isLax {
				t.Errorf("%s, %s: agents run: %v: %s, %v", mode, sandbox, runs, spawned, err)
			}
			if mode == "shared" && !isLax {
				w.joinedIn(folder+"/below").must("thread/resume", map[string]any{"threadId": thread})
			}
		}
		if mode == "shared" {
			w.checkNewPolicyFile(lax)
		}
	}
}

// checkNewPolicyFile writes a policy file to the workspace, whose client has joined without one: it ends.
func (w *world) checkNewPolicyFile(c *conversation) {
	w.t.Helper()
	file := w.workspace + "/" + config.WorkspaceFile
	if err := os.WriteFile(file, []byte("[policy]\nsandbox = \"read-only\"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	exit, err := c.Exit(c.ctx)
	if err != nil || exit.Code == 0 || !strings.Contains(c.Stderr(), file+" is new") {
		w.t.Errorf("%v, %v: %s", exit, err, c.Stderr())
	}
	again := w.joined()
	started := again.must("thread/start", map[string]any{"sandbox": "workspace-write", "cwd": w.root})
	if got := editor.Member(started, "sandbox", "type"); got != "readOnly" {
		w.t.Errorf("after the next start, the sandbox is %s", got)
	}
}

// A thread in the folder in which codex-bridge serve was started, and a command there, have the policy of its file.
func TestPolicyFileWhereServeStarts(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, strings.Replace(hubConfig, "require", "off", 1))
	if err := os.WriteFile(w.workspace+"/"+config.WorkspaceFile, []byte(strictPolicyFile), 0o600); err != nil {
		t.Fatal(err)
	}
	c := w.open(w.serve("unix://" + w.root + "/run/serve.sock")[0]...)
	c.initialize(nil)
	for _, params := range []map[string]any{{"cwd": w.workspace}, {}} {
		params["sandbox"] = "workspace-write"
		started := c.must("thread/start", params)
		if got := editor.Member(started, "sandbox", "type"); got != "readOnly" {
			t.Errorf("%v: the sandbox is %s", params, got)
		}
	}
	for _, params := range []map[string]any{{"cwd": w.workspace}, {}} {
		params["command"], params["sandboxPolicy"] = []string{"touch", w.workspace + "/made"}, map[string]any{"type": "workspaceWrite"}
		if _, err := c.Call(c.ctx, "command/exec", params); exists(w.workspace + "/made") {
			t.Errorf("%v: the command has written: %v", params, err)
		}
	}
}

// A client does not wait for a codex-bridge serve that was stopped: it gets a Codex of its own, or ends with an
// error. One that has joined ends with its input.
func TestServeThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	auto := strings.Replace(hubConfig, "require", "auto", 1)
	w := newHubWorld(t, auto)
	joined := w.joined()
	server, _ := w.hubProcess()
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGCONT) })
	w.awaitStop(server)
	ended := make(chan editor.Exit, 1)
	go func() { ended <- joined.Close(time.Minute) }()
	doctor := exec.Command(proxyPath, "doctor", "--json")
	var findings bytes.Buffer
	doctor.Env, doctor.Dir, doctor.Stdout = w.env, w.workspace, &findings
	if err := doctor.Start(); err != nil {
		t.Fatal(err)
	}
	alone := w.joined()
	alone.must("thread/loaded/list", map[string]any{})
	if !strings.Contains(alone.Stderr(), "codex-bridge serve does not answer") {
		t.Errorf("no warning: %s", alone.Stderr())
	}
	if _ = doctor.Wait(); !strings.Contains(findings.String(), "does not answer, so clients can't join") {
		t.Errorf("doctor does not name the server: %s", &findings)
	}
	w.write("config.toml", hubConfig)
	c := w.open(proxyArgv...)
	exit, err := c.Exit(c.ctx)
	if err != nil || exit.Code == 0 || !strings.Contains(c.Stderr(), `serve.mode is "require": codex-bridge serve does not answer`) {
		t.Errorf("%v, %v: %s", exit, err, c.Stderr())
	}
	if exit := <-ended; exit.Code != 1 || !strings.Contains(joined.Stderr(), "codex-bridge serve does not answer") {
		t.Errorf("the joined client: %v: %s", exit, joined.Stderr())
	}
}

// The log of a shared Codex has no secrets, also where Codex writes them.
func TestServeLogHasNoSecrets(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig+"[[policy.rule]]\ncommand = \"curl **\"\ndecision = \"deny\"\n")
	c := w.joined()
	const secret = "sk-proj-0123456789abcdef0123456789"
	c.runTurn(c.thread(nil), "RUN: curl -H 'X-Key: "+secret+"' localhost")
	log := w.read("state/serve.log")
	if !strings.Contains(log, "<redacted>") || strings.Contains(log, secret) {
		t.Errorf("serve.log: %s", log)
	}
}
