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

// movedDatabases moves Codex's databases to the folder "databases" of a world, or of its workspace.
var movedDatabases = map[string]func(w *world, folder string){
	"variable": func(w *world, folder string) { w.env = append(w.env, "CODEX_SQLITE_HOME="+folder) },
	"relative variable": func(w *world, folder string) {
		relative, err := filepath.Rel(w.workspace, folder)
		if err != nil {
			w.t.Fatal(err)
		}
		w.env = append(w.env, "CODEX_SQLITE_HOME="+relative)
	},
	"key": func(w *world, folder string) {
		w.write("home/config.toml", fmt.Sprintf("sqlite_home = %q\n%s", folder, w.read("home/config.toml")))
	},
	"project's key": func(w *world, folder string) {
		w.write("home/config.toml", fmt.Sprintf("%s\n[projects.%q]\ntrust_level = \"trusted\"\n", w.read("home/config.toml"), w.workspace))
		w.write("workspace/.codex/config.toml", fmt.Sprintf("sqlite_home = %q\n", folder))
	},
}

// Codex's databases are protected where a variable or a key moves them. Commands of Codex alone
// change them there.
func TestMovedDatabases(t *testing.T) {
	t.Parallel()
	for name, move := range movedDatabases {
		for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
			t.Run(name+" "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: governsConfig})
				move(w, filepath.Join(w.workspace, "databases"))
				if err := os.Mkdir(filepath.Join(w.workspace, "databases"), 0o700); err != nil {
					t.Fatal(err)
				}
				a := w.newAcceptingEditor(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
				a.turn(thread, "RUN: mkdir databases/made; ls databases")
				if !strings.Contains(w.lastToolOutput(), ".sqlite") || w.hasFile("workspace/databases/made") != (who == "control") {
					t.Errorf("a command changed the folder: %v; the model was told %q", w.hasFile("workspace/databases/made"), w.lastToolOutput())
				}
				a.closeAndWait()
			})
		}
		t.Run(name+" in a temporary folder", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: governsConfig})
			move(w, filepath.Join(w.home+".tmp", "databases"))
			e := w.start(proxyArgv, editor.Options{})
			exit, err := e.Exit(deadline(t))
			if err != nil || exit.Code != 2 || !strings.Contains(e.Stderr(), "the folder of codex's databases") {
				t.Errorf("%v, %v; stderr %q", exit, err, e.Stderr())
			}
		})
	}
}

// A file that Codex reads and the bridge can't may name the folder of the databases, so a bridge that enforces does not
// start. Codex alone keeps its databases there.
func TestDatabaseFolderInUnreadableFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	folder := filepath.Join(w.workspace, "databases")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("sqlite_home = %q\n%s", folder, w.read("home/config.toml"))
	w.write("home/config.toml", text+"\n[unknown]\nx = "+strings.Repeat("[", 65)+strings.Repeat("]", 65)+"\n")
	a := w.newAcceptingEditor(codexPath, "app-server")
	a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	a.closeAndWait()
	if found, err := filepath.Glob(filepath.Join(folder, "*.sqlite")); err != nil || len(found) == 0 {
		t.Errorf("control: Codex has no databases there: %v", err)
	}
	const why = "can't be read, so the policy can't protect the folder of codex's databases"
	e := w.start(proxyArgv, editor.Options{})
	if exit, err := e.Exit(deadline(t)); err != nil || exit.Code != 2 || !strings.Contains(e.Stderr(), why) {
		t.Errorf("%v, %v; stderr %q", exit, err, e.Stderr())
	}
	if report, _, _ := w.runCommand("doctor"); !strings.Contains(strings.Join(strings.Fields(report), " "), why) {
		t.Errorf("doctor: %s", report)
	}
	w.write("home/config.toml", text)
	a = w.newAcceptingEditor(proxyArgv...)
	a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	a.closeAndWait()
}

// A bridge that enforces does not start a Codex that runs commands on another server.
func TestExecServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig, env: []string{"CODEX_EXEC_SERVER_URL=ws://127.0.0.1:1"}})
	a := w.newAcceptingEditor(codexPath, "app-server")
	opened := a.must("thread/start", map[string]any{"cwd": w.workspace})
	if !strings.Contains(string(opened), `"environmentId":"remote"`) {
		t.Errorf("control: %s", opened)
	}
	a.closeAndWait()
	e := w.start(proxyArgv, editor.Options{})
	exit, err := e.Exit(deadline(t))
	if err != nil || exit.Code != 2 || !strings.Contains(e.Stderr(), "CODEX_EXEC_SERVER_URL is set") {
		t.Errorf("%v, %v; stderr %q", exit, err, e.Stderr())
	}
	w.write("config.toml", governsConfig+"[codex]\nenv_remove = [\"CODEX_EXEC_SERVER_URL\"]\nshutdown_grace = \"1m\"\n")
	a = w.newAcceptingEditor(proxyArgv...)
	a.turn(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}), "RUN: touch fine")
	if !w.hasFile("workspace/fine") {
		t.Errorf("without the variable: %q", w.lastToolOutput())
	}
	a.closeAndWait()
}

// A thread whose environment Codex's own file moves to another server is refused.
func TestThreadElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	w.write("home/environments.toml", "default = \"far\"\n[[environments]]\nid = \"far\"\nurl = \"ws://127.0.0.1:1\"\n")
	a := w.newAcceptingEditor(codexPath, "app-server")
	opened := a.must("thread/start", map[string]any{"cwd": w.workspace})
	if !strings.Contains(string(opened), `"environmentId":"far"`) {
		t.Errorf("control: %s", opened)
	}
	a.closeAndWait()
	a = w.newAcceptingEditor(proxyArgv...)
	if err := a.mustFail("thread/start", map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"}); !strings.Contains(err.Message, "environments") {
		t.Error(err)
	}
	a.closeAndWait()
}
