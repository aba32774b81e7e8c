//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

const deniedSecret = "hunter2hunter2"

// denyingProfile is a permissions profile of a user who wants no secret read.
const denyingProfile = `
default_permissions = "guarded"
[permissions.guarded]
extends = ":workspace"
[permissions.guarded.filesystem]
glob_scan_max_depth = 4
[permissions.guarded.filesystem.":workspace_roots"]
"**/.env" = "deny"
keys = "deny"
`

// newDenyingWorld has secrets that denyingProfile denies, and a link to one of them.
func newDenyingWorld(t *testing.T, config, codexConfig string) *world {
	t.Helper()
	w := newWorld(t, options{config: config, codexConfig: codexConfig})
	// Codex reads AGENTS.md of a trusted project, inside the sandbox.
	w.write("home/config.toml", w.read("home/config.toml")+"\n[projects.\""+w.workspace+"\"]\ntrust_level = \"trusted\"\n")
	for _, file := range []string{".env", "deep/er/.env", "keys/id"} {
		w.write("workspace/"+file, deniedSecret+"\n")
	}
	if err := os.Symlink("keys/id", filepath.Join(w.workspace, "link")); err != nil {
		t.Fatal(err)
	}
	w.write("workspace/reads.sh", `cat .env link keys/id; grep -r hunter2 .; python3 -c 'print(open("deep/er/.env").read())'; echo read >&2; touch "$1"`+"\n")
	return w
}

// readsSecrets runs programs that read the secrets in a turn, and reports whether one could, and
// whether they could write in the workspace.
func (a *acceptingEditor) readsSecrets(thread string, more map[string]any) (read, wrote bool) {
	a.t.Helper()
	_ = os.Remove(filepath.Join(a.workspace, "made"))
	a.turnWith(thread, "RUN: sh reads.sh made", more)
	out := a.lastToolOutput()
	if !strings.Contains(out, "read") {
		a.t.Errorf("the programs did not run: %q", out)
	}
	return strings.Contains(out, deniedSecret), a.hasFile("workspace/made")
}

// Files that the user's permissions profile denies stay denied under a policy, however a thread opens and
// whatever sandbox a client or turn names: with less than the profile, with the profile itself, and
// where Codex alone would drop it. A profile that can't be kept opens no thread.
func TestPolicyKeepsDenialsOfUser(t *testing.T) {
	t.Parallel()
	readOnly, writes := map[string]any{"type": "readOnly"}, map[string]any{"type": "workspaceWrite"}
	t.Run("Codex alone", func(t *testing.T) {
		t.Parallel()
		w := newDenyingWorld(t, "", denyingProfile)
		a := w.newAcceptingEditor(codexPath, "app-server")
		thread := a.thread(map[string]any{"approvalPolicy": "on-request"})
		if read, wrote := a.readsSecrets(thread, nil); read || !wrote {
			t.Errorf("read %v, wrote %v: %q", read, wrote, w.lastToolOutput())
		}
		if read, _ := a.readsSecrets(thread, map[string]any{"sandboxPolicy": readOnly}); read {
			t.Error("Codex drops the profile in a turn")
		}
		if read, _ := a.readsSecrets(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}), nil); !read {
			t.Error("Codex keeps the profile beside the sandbox of a thread")
		}
		a.closeAndWait()
	})
	for sandbox, protected := range map[string]string{"workspace-write": `[".github/workflows"]`, "read-only": "[]"} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			w := newDenyingWorld(t, "[policy]\napproval = [\"on-request\"]\nsandbox = \""+sandbox+"\"\nprotected_paths = "+protected+"\n", denyingProfile)
			may := sandbox == "workspace-write"
			check := func(a *acceptingEditor, name, thread string, more map[string]any, want bool) {
				t.Helper()
				if read, wrote := a.readsSecrets(thread, more); read || wrote != want {
					t.Errorf("%s: read %v, wrote %v: %q", name, read, wrote, w.lastToolOutput())
				}
			}
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request"})
			check(a, "start", thread, nil, may)
			check(a, "read-only turn", thread, map[string]any{"sandboxPolicy": readOnly}, false)
			check(a, "writing turn", thread, map[string]any{"sandboxPolicy": writes}, may)
			check(a, "named profile", thread, map[string]any{"permissions": "guarded"}, may)
			if _, said := a.spawnAgent(thread, "RUN: sh reads.sh agent"); strings.Contains(said, deniedSecret) || w.hasFile("workspace/agent") != may {
				t.Errorf("the subagent said %q", said)
			}
			check(a, "fork", editor.Member(a.must("thread/fork", map[string]any{"threadId": thread}), "thread", "id"), nil, may)
			check(a, "client's sandbox", a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}), nil, false)
			for _, sandbox := range []any{nil, readOnly, writes} {
				if err := a.mustFail("command/exec", map[string]any{"command": []any{"cat", ".env"}, "sandboxPolicy": sandbox}); !strings.Contains(err.Message, "guarded") {
					t.Errorf("command/exec: %v", err)
				}
			}
			a.closeAndWait()
			a = w.newAcceptingEditor(proxyArgv...)
			a.must("thread/resume", map[string]any{"threadId": thread})
			check(a, "cold resume", thread, nil, may)
			a.closeAndWait()
		})
	}
}

// A turn that names the user's own profile of its thread has the network of that profile, as with Codex alone, and so have
// later turns. A policy without network allows it to none.
func TestTurnNamesProfileWithNetwork(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nnetwork = "
	for _, test := range []struct {
		name, config string
		argv         []string
		open         bool
	}{
		{"control: Codex alone", "", []string{codexPath, "app-server"}, true}, {"bridge", config + "true\n", proxyArgv, true}, {"bridge without network", config + "false\n", proxyArgv, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := newDenyingWorld(t, test.config, denyingProfile+"[permissions.guarded.network]\nenabled = true\n").newAcceptingEditor(test.argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request"})
			for _, more := range []map[string]any{nil, {"permissions": "guarded"}, nil} {
				a.turnWith(thread, "RUN: python3 -c 'import socket; socket.socket(socket.AF_INET); print(\"has a socket\")'; cat .env; echo ran", more)
				out := a.lastToolOutput()
				if !strings.Contains(out, "ran") || strings.Contains(out, deniedSecret) || strings.Contains(out, "has a socket") != test.open {
					t.Errorf("a turn with %v: %q", more, out)
				}
			}
			a.closeAndWait()
		})
	}
}

// Full access of a turn keeps what the user's own profile denies, if the turn names it as a builtin profile. Codex reports
// a workspace-write of all folders. A thread that had full access never reads more after a restart than with Codex alone.
func TestFullAccessKeepsDenialsOfUser(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"control: Codex alone": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newDenyingWorld(t, "[policy]\napproval = [\"on-request\"]\nsandbox = \"danger-full-access\"\nnetwork = true\n", denyingProfile)
			a := w.newAcceptingEditor(argv...)
			check := func(what, thread string, more map[string]any) {
				t.Helper()
				if read, wrote := a.readsSecrets(thread, more); read || !wrote {
					t.Errorf("%s: secrets read: %v, written: %v", what, read, wrote)
				}
			}
			thread := a.thread(map[string]any{"approvalPolicy": "on-request"})
			check("full access", thread, map[string]any{"permissions": ":danger-full-access"})
			check("the next turn", thread, nil)
			a.resume(thread, map[string]any{})
			check("resumed", thread, nil)
			a.turnWith(thread, "SAY: full", map[string]any{"sandboxPolicy": map[string]any{"type": "dangerFullAccess"}})
			a.closeAndWait()
			a = w.newAcceptingEditor(argv...)
			for _, method := range []string{"thread/resume", "thread/fork"} {
				again := editor.Member(a.must(method, map[string]any{"threadId": thread}), "thread", "id")
				check(method, again, nil)
			}
			a.closeAndWait()
		})
	}
}

// A flag of the command line and the configuration of a trusted project change the sandbox of a thread,
// but keep what the user's own profile denies. Codex alone drops that. A project that changes the profile
// itself opens no thread.
func TestFlagKeepsDenialsOfUser(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nproject_trust = \"codex\"\n"
	onRequest := map[string]any{"approvalPolicy": "on-request"}
	w := newDenyingWorld(t, config, denyingProfile)
	a := w.newAcceptingEditor(codexPath, "app-server", "-c", `sandbox_mode="read-only"`)
	if read, wrote := a.readsSecrets(a.thread(onRequest), nil); !read || wrote {
		t.Errorf("Codex alone: read %v, wrote %v", read, wrote)
	}
	a.closeAndWait()
	for _, flag := range []string{`sandbox_mode="read-only"`, `default_permissions=":read-only"`} {
		a := w.newAcceptingEditor(append(slices.Clip(proxyArgv), "-c", flag)...)
		if read, wrote := a.readsSecrets(a.thread(onRequest), nil); read || wrote {
			t.Errorf("%s: read %v, wrote %v: %q", flag, read, wrote, w.lastToolOutput())
		}
		if err := a.mustFail("command/exec", map[string]any{"command": []any{"cat", ".env"}}); !strings.Contains(err.Message, "guarded") {
			t.Errorf("command/exec beside %s: %v", flag, err)
		}
		a.closeAndWait()
	}

	const project = "sandbox_mode = \"workspace-write\"\n"
	w.write("workspace/.codex/config.toml", project)
	a = w.newAcceptingEditor(codexPath, "app-server")
	if read, wrote := a.readsSecrets(a.thread(onRequest), nil); !read || !wrote {
		t.Errorf("Codex alone in the project: read %v, wrote %v", read, wrote)
	}
	a.closeAndWait()
	a = w.newAcceptingEditor(proxyArgv...)
	if read, wrote := a.readsSecrets(a.thread(onRequest), nil); read || !wrote {
		t.Errorf("in the project: read %v, wrote %v: %q", read, wrote, w.lastToolOutput())
	}
	w.write("workspace/.codex/config.toml", project+"[permissions.guarded.filesystem.\":workspace_roots\"]\nkeys = \"read\"\n")
	if err := a.mustFail("thread/start", onRequest); !strings.Contains(err.Message, "may allow what yours denies") {
		t.Error(err)
	}
	a.closeAndWait()
}

// The thread by which Codex comes to trust a project has the sandbox of the project's own configuration, as with Codex
// alone, also where the user has a profile.
func TestTrustingThreadKeepsSandboxOfProject(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nproject_trust = \"codex\"\n"
	for name, argv := range map[string][]string{"Codex alone": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newDenyingWorld(t, config, denyingProfile)
			w.repository()
			w.write("workspace/.codex/config.toml", "sandbox_mode = \"read-only\"\n")
			a := w.newAcceptingEditor(argv...)
			for range 2 {
				if _, wrote := a.readsSecrets(a.thread(map[string]any{"approvalPolicy": "on-request"}), nil); wrote {
					t.Error("a thread writes")
				}
			}
			a.closeAndWait()
		})
	}
}

// A profile that lets commands write other folders becomes read-only, which the user reads. A
// profile that the bridge can't repeat opens no thread.
func TestProfileOfUserThatPolicyCannotKeep(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n"
	w := newDenyingWorld(t, config, denyingProfile+"out = \"write\"\n")
	w.write("workspace/out/x", "")
	a := w.newAcceptingEditor(proxyArgv...)
	mark := a.Mark()
	thread := a.thread(map[string]any{"approvalPolicy": "on-request"})
	if read, wrote := a.readsSecrets(thread, nil); read || wrote {
		t.Errorf("read %v, wrote %v", read, wrote)
	}
	if !slices.ContainsFunc(a.Messages()[mark:], func(m editor.Message) bool {
		return m.Method == "configWarning" && strings.Contains(m.Param("summary"), "guarded")
	}) {
		t.Error("the user reads nothing")
	}
	a.closeAndWait()

	w = newDenyingWorld(t, config, strings.Replace(denyingProfile, `extends = ":workspace"`, "extends = \":workspace\"\nworkspace_roots = { \"/srv\" = true }", 1))
	a = w.newAcceptingEditor(proxyArgv...)
	if err := a.mustFail("thread/start", map[string]any{"approvalPolicy": "on-request"}); !strings.Contains(err.Message, "workspace_roots") {
		t.Error(err)
	}
	a.closeAndWait()
}

// A folder that the profile of the last turn lets commands only read stays read-only after a restart, also if
// that profile is not the default of the configuration. Codex restores it, too.
func TestResumeKeepsReadEntries(t *testing.T) {
	t.Parallel()
	const profiles = `
default_permissions = ":workspace"
[permissions.mine]
extends = ":workspace"
[permissions.mine.filesystem.":workspace_roots"]
".vscode" = "read"
keys = "deny"
`
	for name, argv := range map[string][]string{"Codex alone": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n", codexConfig: profiles})
			w.write("workspace/.vscode/x", "")
			w.write("workspace/keys/id", "")
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request"})
			a.turnWith(thread, "SAY: ready", nil)
			a.closeAndWait()
			for i, params := range []map[string]any{{"permissions": "mine"}, {}} {
				a := w.newAcceptingEditor(argv...)
				params["threadId"], params["approvalPolicy"] = thread, "on-request"
				a.must("thread/resume", params)
				a.turnWith(thread, "RUN: touch .vscode/made made"+strconv.Itoa(i), nil)
				if w.hasFile("workspace/.vscode/made") || !w.hasFile("workspace/made"+strconv.Itoa(i)) {
					t.Errorf("resume %d: %q", i, w.lastToolOutput())
				}
				a.closeAndWait()
			}
		})
	}
}

// A fork into another folder has there what the thread's profile denies below each workspace root, also if the profile
// is not the default of the configuration. Codex finds it by its name, and the bridge by that of its own profile.
func TestForkFindsProfileOfUser(t *testing.T) {
	t.Parallel()
	const profiles = `
default_permissions = ":workspace"
[permissions.mine]
extends = ":workspace"
[permissions.mine.filesystem.":workspace_roots"]
keys = "deny"
`
	for name, argv := range map[string][]string{"Codex alone": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n", codexConfig: profiles})
			for _, folder := range []string{"workspace/one", "workspace/other"} {
				w.write(folder+"/keys/id", "the key")
			}
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "permissions": "mine", "cwd": filepath.Join(w.workspace, "one")})
			a.turnWith(thread, "RUN: cat keys/id", nil)
			if output := w.lastToolOutput(); strings.Contains(output, "the key") {
				t.Fatalf("the profile does not count: %q", output)
			}
			a.closeAndWait()
			a = w.newAcceptingEditor(argv...)
			fork := editor.Member(a.must("thread/fork", map[string]any{"threadId": thread, "approvalPolicy": "on-request", "cwd": filepath.Join(w.workspace, "other")}), "thread", "id")
			a.turnWith(fork, "RUN: cat keys/id", nil)
			if output := w.lastToolOutput(); strings.Contains(output, "the key") {
				t.Errorf("a command reads what the profile denies: %q", output)
			}
			a.closeAndWait()
		})
	}
}
