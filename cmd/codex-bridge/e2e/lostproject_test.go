//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that a trusted project forbids does not run, or the thread is refused: under "never", also if a
// workspace file says so, and where a link names the folder. Codex alone forbids it each time.
// TestUntrustedProjectLoadsNothing has a project that only adds, and opens under "never".
func TestTrustedProjectStaysForbidding(t *testing.T) {
	t.Parallel()
	const user = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nproject_trust = \"user\"\n"
	never := strings.Replace(user, `"user"`, `"never"`, 1)
	forbids := map[string]string{".codex/rules/a.rules": "prefix_rule(pattern=[\"touch\"], decision=\"forbidden\")\n"}
	for name, test := range map[string]struct {
		config, trusted, cwd string // below the world's root
		files                map[string]string
		refused              string // a part of the error; "": the thread opens
	}{
		"user":                {user, "project", "project", forbids, ""},
		"never":               {never, "project", "project", forbids, `set project_trust = "user"`},
		"never, no shell":     {never, "project", "project/sub", map[string]string{".codex/config.toml": "[features]\nshell_tool = false\n"}, "features in "},
		"workspace file":      {user, "project", "project", map[string]string{".codex-bridge.toml": "[policy]\nproject_trust = \"never\"\n", ".codex/rules/a.rules": forbids[".codex/rules/a.rules"]}, ".codex-bridge.toml:2"},
		"trusted by a link":   {user, "link/project", "link/project", forbids, "$ROOT/real/project, which the bridge sends"},
		"link out of project": {user, "project", "project/out", forbids, "trust the project of $ROOT/elsewhere"},
		"codex, link out":     {strings.Replace(user, `"user"`, `"codex"`, 1), "project", "project/out", forbids, "the rules in "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config})
			project := "project"
			if strings.HasPrefix(test.trusted, "link") {
				project = "real/project"
			}
			w.writeFiles(project, map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/heads/x": "", "sub/x": ""}, test.files)
			w.write("elsewhere/x", "")
			for link, to := range map[string]string{"link": "real", project + "/out": "elsewhere"} {
				if err := os.Symlink(filepath.Join(w.root, to), filepath.Join(w.root, link)); err != nil {
					t.Fatal(err)
				}
			}
			w.write("home/config.toml", w.read("home/config.toml")+"\n[projects.\""+filepath.Join(w.root, test.trusted)+"\"]\ntrust_level = \"trusted\"\n")
			params := map[string]any{"cwd": filepath.Join(w.root, test.cwd), "approvalPolicy": "on-request", "sandbox": "workspace-write"}

			a := w.newAcceptingEditor(codexPath, "app-server")
			a.turnWith(a.thread(params), "RUN: touch made", nil)
			if w.hasFile(test.cwd + "/made") {
				t.Errorf("Codex alone does not forbid it: %q", w.lastToolOutput())
			}
			a.closeAndWait()

			a = w.newAcceptingEditor(proxyArgv...)
			if test.refused == "" {
				a.turnWith(a.thread(params), "RUN: touch made", nil)
				if w.hasFile(test.cwd + "/made") {
					t.Errorf("the bridge does not keep it: %q", w.lastToolOutput())
				}
			} else if err := a.mustFail("thread/start", params); !strings.Contains(err.Message, strings.ReplaceAll(test.refused, "$ROOT", w.root)) {
				t.Error(err)
			}
			a.closeAndWait()
		})
	}
}

// A client can't take away the trust in a project, and so what the project forbids. With Codex alone it can. A folder to
// which no trust applies may be distrusted.
func TestClientsKeepTrustOfUser(t *testing.T) {
	t.Parallel()
	const write = "config/value/write"
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		for _, trust := range []string{"user", "codex"} {
			if trust == "codex" && name == "codex alone" {
				continue
			}
			t.Run(name+", "+trust, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nproject_trust = \"" + trust + "\"\n"})
				w.writeFiles("project", map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/heads/x": "", "sub/x": ""},
					map[string]string{".codex/rules/a.rules": "prefix_rule(pattern=[\"touch\"], decision=\"forbidden\")\n"})
				w.write("other/x", "")
				project := filepath.Join(w.root, "project")
				w.write("home/config.toml", w.read("home/config.toml")+"\n[projects.\""+project+"\"]\ntrust_level = \"trusted\"\n")
				a := w.newAcceptingEditor(argv...)
				distrust := func(folder string) map[string]any {
					return map[string]any{"keyPath": "projects.\"" + folder + "\".trust_level", "value": "untrusted", "mergeStrategy": "replace"}
				}
				a.must(write, distrust(filepath.Join(w.root, "other")))
				if name == "codex alone" {
					a.must(write, distrust(project))
				} else {
					for _, folder := range []string{project, project + "/sub", project + "/../project", w.root} {
						if err := a.mustFail(write, distrust(folder)); !strings.Contains(err.Message, "nothing counts that the project forbids") {
							t.Error(err)
						}
					}
				}
				a.turnWith(a.thread(map[string]any{"cwd": project, "approvalPolicy": "on-request", "sandbox": "workspace-write"}), "RUN: touch made", nil)
				if alone := name == "codex alone"; w.hasFile("project/made") != alone {
					t.Errorf("the forbidden command ran: %v; the model got %q", !alone, w.lastToolOutput())
				}
				a.closeAndWait()
			})
		}
	}
}
