//go:build linux

package e2e_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A client's command line may shorten the list of writable roots of Codex's configuration. The longer list does
// not count in its place, and no folder that the policy forbids becomes writable.
func TestShorterRootsOfCommandLine(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{"control: Codex alone": codexPath, "bridge": proxyPath} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{mute: "many", config: "[policy]\n"})
			out, more := filepath.Dir(w.write("out/x", "")), filepath.Dir(w.write("more/x", ""))
			w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q, %q]\n", out, more))
			w.write("home/config.toml", w.read("home/config.toml")+fmt.Sprintf("\n[sandbox_workspace_write]\nwritable_roots = [%q, %q]\n", out, more))
			c := w.openAnswering("decline", program, "-c", fmt.Sprintf("sandbox_workspace_write.writable_roots=[%q]", out), "app-server")
			c.initialize(nil)
			thread := c.thread(map[string]any{"sandbox": "workspace-write", "approvalPolicy": "on-request"})
			c.runTurn(thread, "RUN: touch "+out+"/made; touch "+more+"/made")
			if !w.hasFile("out/made") || w.hasFile("more/made") {
				t.Errorf("written in the root of the command line: %v, in the other one: %v", w.hasFile("out/made"), w.hasFile("more/made"))
			}
			c.closeAndWait()
		})
	}
}

// The bridge marks each project in the overlay, and defines a profile for protected paths. Neither makes a
// resumed or forked thread write where Codex alone would not: in a project that Codex does not know, because the thread
// was started without a cwd or outside a repository, or under a default that is read-only. A thread that was started
// with the cwd in a repository writes after a resume, as with Codex alone.
func TestResumeOfUnknownProject(t *testing.T) {
	t.Parallel()
	const policy = "[policy]\napproval = [\"on-request\", \"untrusted\"]\nsandbox = \"workspace-write\"\n"
	for name, test := range map[string]struct {
		argv   []string
		config string
	}{
		"control: Codex alone": {[]string{codexPath, "app-server"}, ""},
		"bridge":               {proxyArgv, policy},
		"protected paths":      {proxyArgv, policy + "protected_paths = [\".github\"]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, started := range []struct {
				name     string
				cwd      string // of thread/start; "": it has none
				defaults string // Codex's configuration
				again    string // the cwd of the resume or fork, if it has one
				resumed  string // the sandbox
			}{
				{"without a cwd", "", "", "", "readOnly"},
				{"with a cwd", "workspace", "", "", "workspaceWrite"},
				{"outside a repository", "plain", "", "", "readOnly"},
				{"under read-only", "workspace", "sandbox_mode = \"read-only\"\n[sandbox_workspace_write]\nwritable_roots = [\"/srv\"]\n", "", "readOnly"},
				{"resumed elsewhere", "workspace", "", "plain", "readOnly"},
			} {
				w := newWorld(t, options{mute: "many", config: test.config, codexConfig: started.defaults})
				c := w.openAnswering("decline", test.argv...)
				c.initialize(nil)
				params := map[string]any{"sandbox": "workspace-write", "approvalPolicy": "on-request"}
				plain := filepath.Dir(w.write("plain/x", ""))
				if started.cwd != "" {
					params["cwd"] = filepath.Join(filepath.Dir(plain), started.cwd)
				}
				thread := editor.Member(c.must("thread/start", params), "thread", "id")
				c.runTurn(thread, "RUN: touch first")
				again, folder := map[string]any{"threadId": thread}, cmp.Or(started.cwd, "workspace")
				first := folder + "/first"
				if started.again != "" {
					folder, again["cwd"] = started.again, plain
				}
				if got := editor.Member(c.must("thread/fork", again), "sandbox", "type"); got != started.resumed {
					t.Errorf("%s, fork in memory: the sandbox is %s, want %s", started.name, got, started.resumed)
				}
				c.closeAndWait()
				c = w.openAnswering("decline", test.argv...)
				c.initialize(nil)
				for _, method := range []string{"thread/fork", "thread/resume"} {
					opened := c.must(method, again)
					if got := editor.Member(opened, "sandbox", "type"); got != started.resumed {
						t.Errorf("%s, %s: the sandbox is %s, want %s", started.name, method, got, started.resumed)
					}
				}
				c.runTurn(thread, "RUN: touch later")
				if !w.hasFile(first) || w.hasFile(folder+"/later") != (started.resumed == "workspaceWrite") {
					t.Errorf("%s: written first %v, later %v", started.name, w.hasFile(first), w.hasFile(folder+"/later"))
				}
				c.closeAndWait()
			}
		})
	}
}
