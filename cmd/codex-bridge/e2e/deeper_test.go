//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// deeperLines are lines that change the file deep/.github/workflows/ci.yaml and print that. A bash
// started by a line finds no program apply_patch (measured with Codex 0.169).
var deeperLines = map[string]map[string]any{
	"echo x > deep/.github/workflows/ci.yaml":                                                          nil,
	"echo x >> 'deep'/.github/work\"flows\"/ci.yaml":                                                   nil,
	"exec 3<> deep/.github/workflows/ci.yaml; echo x >&3":                                              nil,
	"d=deep; echo x > $d/.github/workflows/ci.yaml":                                                    nil,
	"cd deep/.github && echo x > workflows/ci.yaml":                                                    nil,
	"cd deep && (cd .github/workflows; date | tee ci.yaml)":                                            nil,
	"bash -c 'sed -i s/on/off/ deep/.github/workflows/ci.yaml'":                                        nil,
	"rm deep/.github/workflows/ci.yaml":                                                                nil,
	"mv deep/.github/workflows deep/away":                                                              nil,
	"cp fine deep/.github/workflows/ci.yaml":                                                           nil,
	"echo x > shortcut/ci.yaml":                                                                        nil,
	"echo x > ci.yaml":                                                                                 {"workdir": "deep/.github/workflows"},
	"echo x > workflows/ci.yaml":                                                                       {"workdir": "deep/.github"},
	"date | dd of=.github/workflows/ci.yaml":                                                           {"workdir": "deep"},
	"apply_patch <<'E'\n" + deeperPatch + "\nE":                                                        {"workdir": "deep/.github"},
	"bash -c \"cd deep && bash -c 'cd .github; echo > workflows/ci.yaml'\"":                            nil,
	"env -C deep tee .github/workflows/ci.yaml < /dev/null":                                            nil,
	"CDPATH=deep; cd .github/workflows; echo x > ci.yaml":                                              nil,
	"sed -i s/on/off/ deep/.github/workflows/ci.yaml fine":                                             nil,
	"cp -t deep/.github/workflows fine; mv deep/.github/workflows/fine deep/.github/workflows/ci.yaml": nil,
	"ln -sfn .github/workflows deep/way; echo x > deep/way/ci.yaml":                                    nil,
	"echo x > deep/.git''hub/workflows/ci.yaml\n((":                                                    nil,
	"echo x > .github/workflows/ci.yaml\n((":                                                           {"workdir": "deep"},
	"install /dev/null deep/.github/workflows/ci.yaml -m 600":                                          nil,
	"cp /dev/null deep/.github/workflows/ci.yaml --suffix x":                                           nil,
	"echo x > ci.yaml; cp --targ deep/.github/workflows ci.yaml":                                       nil,
	"truncate -s 0 deep/{.github,x}/workflows/ci.yaml":                                                 nil,
	"cd deep/.g?thub/workflows && echo x > ci.yaml":                                                    nil,
	"cd deep/.g[h-j]thub/workflows && echo x > ci.yaml":                                                nil,
	"{tee,deep/.github/workflows/ci.yaml} < /dev/null":                                                 nil,
	"eval {tee,deep/.github/workflows/ci.yaml} < /dev/null":                                            nil,
	"/usr/bin/[t]ee deep/.github/workflows/ci.yaml < /dev/null":                                        nil,
	"truncate -s 0 deep/{.github" + strings.Repeat(",x", 300) + "}/workflows/ci.yaml":                  nil,
}

const deeperPatch = "*** Begin Patch\n*** Update File: workflows/ci.yaml\n@@\n-on: push\n+on: pull\n*** End Patch"

// deeperWorld has a protected path below the top of the workspace.
func deeperWorld(t *testing.T, config string) *world {
	t.Helper()
	w := newWorld(t, options{config: config, mute: "there are many turns"})
	w.write("workspace/fine", "fine\n")
	w.restoreFile()
	if err := os.Symlink("deep/.github/workflows", filepath.Join(w.workspace, "shortcut")); err != nil {
		t.Fatal(err)
	}
	return w
}

const deeperFile = "workspace/deep/.github/workflows/ci.yaml"

// restoreFile reports whether the file was changed, and restores it.
func (w *world) restoreFile() (changed bool) {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.root, deeperFile))
	w.write(deeperFile, "on: push\n")
	return err != nil || string(b) != "on: push\n"
}

// With Codex alone each line changes the file.
func TestLinesIntoDeeperProtectedPathsControl(t *testing.T) {
	t.Parallel()
	w := deeperWorld(t, "")
	r := w.newDecliningEditor(codexPath, "app-server")
	thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	for line, more := range deeperLines {
		if r.runLine(thread, line, more); !w.restoreFile() {
			t.Errorf("%s: no effect; the model got %q", line, w.lastToolOutput())
		}
	}
	r.closeAndWait()
}

// A command that names a file in a deeper protected path to change it needs to leave the sandbox.
func TestLinesIntoDeeperProtectedPaths(t *testing.T) {
	t.Parallel()
	w := deeperWorld(t, governsConfig)
	r := w.newDecliningEditor(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	for line, more := range deeperLines {
		asked := r.runLine(thread, line, more)
		if output := w.lastToolOutput(); w.restoreFile() || len(asked) != 0 || !strings.Contains(output, "protected_paths") {
			t.Errorf("%s: %d questions; the model got %q", line, len(asked), output)
		}
	}
	for line, more := range map[string]map[string]any{ // and these lines change nothing there
		"cat deep/.github/workflows/ci.yaml > copy && cp deep/.github/workflows/ci.yaml copy": nil,
		"echo x > deep/.github/fine; touch deep/.github/workflow":                             nil,
		"grep on ci.yaml > ../../fine":                                                        {"workdir": "deep/.github/workflows"},
		"sed -i s/.github/x/ fine; env -C deep cat .github/workflows/ci.yaml":                 nil,
	} {
		if asked := r.runLine(thread, line, more); len(asked) != 0 || !strings.Contains(w.lastToolOutput(), "exited with code 0") {
			t.Errorf("%s: questions %q, the model got %q", line, asked, w.lastToolOutput())
		}
	}
	r.closeAndWait()
}

// A call with only prefix_rule runs in the sandbox, without a question of Codex. The policy decides
// about its line as about any other: the bridge asks the user.
func TestLinesOfCallsWithPrefixRule(t *testing.T) {
	t.Parallel()
	w := deeperWorld(t, governsConfig+"escalation = \"ask\"\n")
	r := w.newDecliningEditor(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	rule := map[string]any{"prefix_rule": []string{"touch"}}
	for line, questions := range map[string]int{"touch deep/.github/workflows/new": 1, "touch deep/new": 0} {
		if asked := r.runLine(thread, line, rule); len(asked) != questions || w.hasFile("workspace/"+strings.TrimPrefix(line, "touch ")) != (questions == 0) {
			t.Errorf("%s: questions %q, the model got %q", line, asked, w.lastToolOutput())
		}
	}
	r.closeAndWait()
}
