//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// bridgeSecret is in the files of the bridge that have its passwords and tokens.
const bridgeSecret = "hunter2hunter2"

// secretsConfig is a policy that lets commands use the network, with an address that has a password.
const secretsConfig = `
[policy]
approval = ["on-request"]
sandbox = "%s"
network = true
protected_paths = [%s]
[serve]
token_file = "$ROOT/s/token"
[fleet]
url = "postgres://bridge:` + bridgeSecret + `@127.0.0.1:1/fleet"
[otel]
endpoint = "http://127.0.0.1:1"
`

// readSecretsScript tries to read the bridge's secrets. Its output has a word for each success.
const readSecretsScript = `exec 2> /dev/null
grep -q bridge:hunter $ROOT/codex-bridge/config.toml && echo address
ls $ROOT/codex-bridge | grep -q . && echo folder
grep -q hunter $ROOT/s/token && echo token
grep -qa hunter /proc/[0-9]*/environ && echo environment
touch "$1"
echo ran
`

// newSecretsWorld has a project that the user trusts: of such a project Codex reads AGENTS.md, and inside the
// sandbox if the profile denies reading.
func newSecretsWorld(t *testing.T, config string) *world {
	t.Helper()
	w := newWorld(t, options{config: config, env: []string{"OTEL_EXPORTER_OTLP_HEADERS=authorization=" + bridgeSecret}})
	if config == "" {
		config = secretsConfig
	}
	w.write("codex-bridge/config.toml", strings.ReplaceAll(config, "$ROOT", w.root))
	w.env = append(w.env, "CODEX_BRIDGE_CONFIG="+filepath.Join(w.root, "codex-bridge/config.toml"))
	w.write("home/config.toml", w.read("home/config.toml")+fmt.Sprintf("\n[projects.%q]\ntrust_level = \"trusted\"\n", w.workspace))
	w.write("workspace/AGENTS.md", "Be brief.")
	w.write("s/token", bridgeSecret+"\n")
	w.write("workspace/reads.sh", strings.ReplaceAll(readSecretsScript, "$ROOT", w.root))
	return w
}

// readSecrets runs the script in a turn, and returns its output, and whether it could write in the workspace.
func (a *acceptingEditor) readSecrets(thread string, more map[string]any) (done string, wrote bool) {
	a.t.Helper()
	_ = os.Remove(filepath.Join(a.workspace, "made"))
	a.turnWith(thread, "RUN: sh reads.sh made", more)
	return a.secretsRead(), a.hasFile("workspace/made")
}

// secretsRead returns the words of the script's last output.
func (w *world) secretsRead() string {
	_, output, _ := strings.Cut(w.lastToolOutput(), "Output:\n")
	return strings.Join(strings.Fields(output), " ")
}

// A sandboxed command reads no password or token of the bridge, however its thread is opened and whatever
// sandbox a turn names. With Codex alone the same command does.
func TestCommandsCannotReadSecrets(t *testing.T) {
	t.Parallel()
	t.Run("Codex alone", func(t *testing.T) {
		t.Parallel()
		w := newSecretsWorld(t, "")
		a := w.newAcceptingEditor(codexPath, "app-server")
		done, _ := a.readSecrets(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}), nil)
		if done != "address folder token environment ran" { // the command's own environment
			t.Errorf("control: the command could only do %q", done)
		}
		a.closeAndWait()
	})
	writes := map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "networkAccess": true}}
	readOnly := map[string]any{"sandboxPolicy": map[string]any{"type": "readOnly"}}
	for name, settings := range map[string][2]string{
		"nothing else is protected":         {"workspace-write", ""},
		"a path in a missing folder is too": {"workspace-write", `".github/workflows"`},
		"commands write nothing":            {"read-only", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			may := settings[0] == "workspace-write"
			w := newSecretsWorld(t, fmt.Sprintf(secretsConfig, settings[0], settings[1]))
			check := func(a *acceptingEditor, name, thread string, more map[string]any, want bool) {
				t.Helper()
				if done, wrote := a.readSecrets(thread, more); done != "ran" || wrote != want {
					t.Errorf("%s: could do %q, wrote %v", name, done, wrote)
				}
			}
			a := w.newAcceptingEditor(proxyArgv...)
			opened := a.must("thread/start", map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": settings[0]})
			if settings[1] == "" && !strings.Contains(string(opened), `"activePermissionProfile":null`) {
				t.Errorf("the client sees another profile than without the bridge: %s", opened)
			}
			thread := editor.Member(opened, "thread", "id")
			check(a, "start", thread, nil, may)
			if settings[1] == "" && may { // the ways within one Codex
				check(a, "turn", thread, writes, true)
				check(a, "read-only turn", thread, readOnly, false)
				check(a, "builtin profile", thread, map[string]any{"permissions": ":workspace"}, true)
				other := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
				check(a, "read-only thread that writes", other, writes, true)
				if err := a.mustFail("command/exec", map[string]any{"command": []any{"cat", "AGENTS.md"}}); !strings.Contains(err.Message, "codex-bridge") {
					t.Errorf("command/exec: %v", err)
				}
				a.closeAndWait()
				w.runsNothing()
				return
			}
			if _, said := a.spawnAgent(thread, "RUN: sh reads.sh agent"); !strings.Contains(said, "said: ran") || w.hasFile("workspace/agent") != may {
				t.Errorf("the subagent said %q", said)
			}
			check(a, "fork", editor.Member(a.must("thread/fork", map[string]any{"threadId": thread}), "thread", "id"), nil, may)
			a.closeAndWait()
			a = w.newAcceptingEditor(proxyArgv...)
			a.must("thread/resume", map[string]any{"threadId": thread})
			check(a, "cold resume", thread, nil, may)
			a.closeAndWait()
			if _, problems, code := w.execute(proxyPath, "", "exec", "--skip-git-repo-check", "RUN: sh reads.sh made"); code != 0 || w.secretsRead() != "ran" {
				t.Errorf("exec: status %d, could do %q: %s", code, w.secretsRead(), problems)
			}
			w.runsNothing()
			for _, name := range w.names() {
				if strings.HasPrefix(name, ".") {
					t.Errorf("left %s", name)
				}
			}
		})
	}
}

// runsNothing checks that no process is left. Codex alone leaves a sandbox in which it has just begun to read.
func (w *world) runsNothing() {
	w.t.Helper()
	if left := w.processes(); len(left) > 0 {
		w.t.Errorf("still running:%.2000s", describe(left))
	}
}

// A secret that comes into the configuration later is hidden from the threads that open then, without a restart.
// The user of a thread that was open before reads once that its commands can read the file. That thread is the
// control.
func TestSecretThatComesLater(t *testing.T) {
	t.Parallel()
	const before = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n[otel]\nendpoint = \"http://127.0.0.1:1\"\n"
	w := newSecretsWorld(t, before)
	a := w.newAcceptingEditor(proxyArgv...)
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	thread := a.thread(settings)
	if done, _ := a.readSecrets(thread, nil); done != "folder token ran" {
		t.Fatalf("before there is a secret, a command could do %q", done)
	}
	warned := func() (n int) {
		for _, m := range a.Messages() {
			if m.Method == "warning" && strings.Contains(m.Param("message"), "Start another thread, and change the secret") {
				n++
			}
		}
		return n
	}
	w.write("codex-bridge/config.toml", strings.ReplaceAll(before, "http://", "http://bridge:"+bridgeSecret+"@"))
	for { // until the change is effective
		_, err := a.Call(a.ctx, "command/exec", map[string]any{"command": []any{"true"}})
		if err != nil && strings.Contains(err.Message, "has a secret of the bridge") {
			break
		}
		if a.ctx.Err() != nil {
			t.Fatalf("command/exec is not refused: %v", err)
		}
	}
	for range 2 {
		if done, _ := a.readSecrets(thread, nil); done != "address folder token ran" {
			t.Errorf("control: in a thread that was open before, a command could do %q", done)
		}
	}
	if n := warned(); n != 1 {
		t.Errorf("%d warnings", n)
	}
	if done, wrote := a.readSecrets(a.thread(settings), nil); done != "token ran" || !wrote {
		t.Errorf("in a new thread, a command could do %q, wrote %v", done, wrote)
	}
	if err := a.mustFail("thread/resume", map[string]any{"threadId": thread}); !strings.Contains(err.Message, "protects too little now") {
		t.Errorf("the resume of a loaded thread: %v", err)
	}
	if n := warned(); n != 1 {
		t.Errorf("%d warnings in the end", n)
	}
}
