//go:build linux

package e2e_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// A turn's root around the workspace makes the workspace's .git writable: Codex protects only the
// .git at the top of a root.
func TestRootAroundWorkspace(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for name, test := range map[string]struct {
		argv        []string
		start, turn func(lib string) object
		written     bool
	}{
		"codex alone": {argv: []string{codexPath, "app-server"}, turn: func(lib string) object { return object{"runtimeWorkspaceRoots": []string{lib}} }, written: true},
		"roots":       {argv: proxyArgv, turn: func(lib string) object { return object{"runtimeWorkspaceRoots": []string{lib}} }},
		"cwd":         {argv: proxyArgv, turn: func(lib string) object { return object{"cwd": lib} }},
		"environment": {argv: proxyArgv, turn: func(lib string) object {
			return object{"environments": []object{{"environmentId": "local", "cwd": lib}}}
		}},
		"roots at once": {argv: proxyArgv, start: func(lib string) object { return object{"runtimeWorkspaceRoots": []string{lib}} }},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n"})
			lib := filepath.Dir(w.write("lib/x", ""))
			w.repositoryIn("lib/own")
			w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n", lib)+withLongGrace("[policy]"))
			a := w.newAcceptingEditor(test.argv...)
			settings := object{"cwd": filepath.Join(lib, "own"), "approvalPolicy": "on-request", "sandbox": "workspace-write"}
			if test.start != nil {
				for key, value := range test.start(lib) {
					settings[key] = value
				}
				a.mustFail("thread/start", settings)
				delete(settings, "runtimeWorkspaceRoots")
			}
			thread := a.thread(settings)
			more := object{}
			if test.turn != nil {
				more = test.turn(lib)
			}
			if test.turn != nil && !test.written {
				params := input(thread, "RUN: true")
				maps.Copy(params, more)
				a.mustFail("turn/start", params)
				more = nil
			}
			turn, mark := a.startTurnWith(thread, "RUN: touch "+lib+"/own/fine; touch "+lib+"/own/.git/hooks/pre-commit", more)
			a.waitTurn(thread, turn, mark)
			if w.hasFile("lib/own/.git/hooks/pre-commit") != test.written || !w.hasFile("lib/own/fine") {
				t.Errorf(".git written: %v; the model got %q", !test.written, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// protected_paths has .github/workflows. A thread in .github can't write there, and neither can a
// thread with the root .github.
func TestWorkspaceBeforeProtectedPath(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv    []string
		folder  string
		roots   bool
		written bool
	}{
		"codex alone":       {argv: []string{codexPath, "app-server"}, folder: ".github", written: true},
		"the workspace":     {argv: proxyArgv, folder: ".github"},
		"deeper":            {argv: proxyArgv, folder: "sub/.github"},
		"a root":            {argv: proxyArgv, folder: ".github", roots: true},
		"a deeper root":     {argv: proxyArgv, folder: "sub/.github", roots: true},
		"another workspace": {argv: proxyArgv, folder: "github", written: true},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: governsConfig, mute: "many"})
			w.write("workspace/"+test.folder+"/workflows/x", "")
			folder := filepath.Join(w.workspace, test.folder)
			settings := map[string]any{"cwd": folder, "approvalPolicy": "on-request", "sandbox": "workspace-write"}
			if test.roots {
				settings["cwd"], settings["runtimeWorkspaceRoots"] = w.workspace, []string{folder}
			}
			a := w.newAcceptingEditor(test.argv...)
			thread := a.thread(settings)
			program := fmt.Sprintf("python3 -c 'open(%q + %q, \"w\")'", folder+"/work", "flows/x.yaml")
			a.turn(thread, "RUN: cd "+folder+"; "+program)
			deeper := test.roots && test.folder != ".github" // a documented limit for programs
			if w.hasFile("workspace/"+test.folder+"/workflows/x.yaml") != test.written && !deeper {
				t.Errorf("protected path written: %v; the model got %q", !test.written, w.lastToolOutput())
			}
			a.turn(thread, "PATCH: "+folder+"/workflows/patched")
			if w.hasFile("workspace/"+test.folder+"/workflows/patched") != test.written {
				t.Errorf("protected path patched: %v; the model got %q", !test.written, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// A grant of a folder around the workspace would unprotect the workspace's .git.
func TestGrantAroundWorkspace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv    []string
		written bool
	}{"codex alone": {[]string{codexPath, "app-server"}, true}, "the bridge": {proxyArgv, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n", codexConfig: permissionsConfig})
			lib := filepath.Dir(w.write("lib/x", ""))
			w.repositoryIn("lib/own")
			w.write("config.toml", gitConfig+fmt.Sprintf("writable_roots = [\"${workspace}\", %q]\n", lib)+withLongGrace("[policy]"))
			w.model.Add(scripted.Step{When: "PERMIT", Reply: wants(t, lib)})
			w.model.Add(scripted.Step{When: "permissions", Reply: runs(t, "touch "+lib+"/own/.git/hooks/pre-commit; echo DONE")})
			a := &conversation{world: w, ctx: deadline(t), Editor: w.start(test.argv, editor.Options{Answer: grantsAll(t)})}
			a.initialize(map[string]any{"experimentalApi": true})
			thread := a.thread(map[string]any{"cwd": filepath.Join(lib, "own"), "approvalPolicy": "on-request", "sandbox": "read-only"})
			turn, mark := a.startTurn(thread, "PERMIT")
			a.waitTurn(thread, turn, mark)
			if w.hasFile("lib/own/.git/hooks/pre-commit") != test.written {
				t.Errorf(".git written: %v; the model got %q", !test.written, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// A thread that Codex alone opened in a protected path, or in its parent, resumes through the
// bridge. Its commands can't write the path.
func TestThreadComesBackInProtectedPath(t *testing.T) {
	t.Parallel()
	for folder, method := range map[string]string{".github": "thread/resume", ".github/workflows": "thread/fork", "sub/.github": "thread/resume"} {
		t.Run(strings.ReplaceAll(folder, "/", " "), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: governsConfig, mute: "many"})
			base := "workspace/" + strings.TrimSuffix(folder, "/workflows")
			w.write(base+"/workflows/x", "")
			w.write("workspace/.github/workflows/.git/HEAD", "ref: refs/heads/main\n")
			alone := w.newAcceptingEditor(codexPath, "app-server")
			thread := alone.thread(map[string]any{"cwd": filepath.Join(w.workspace, folder), "approvalPolicy": "on-request", "sandbox": "workspace-write"})
			alone.turn(thread, "RUN: touch "+filepath.Join(w.root, base)+"/workflows/control")
			if !w.hasFile(base + "/workflows/control") {
				t.Errorf("Codex alone can't write there: %q", w.lastToolOutput())
			}
			alone.closeAndWait()
			a := w.newAcceptingEditor(proxyArgv...)
			result, err := a.Call(a.ctx, method, map[string]any{"threadId": thread})
			if err == nil {
				thread = editor.Member(result, "thread", "id")
				a.turn(thread, fmt.Sprintf("RUN: python3 -c 'open(%q + %q, \"w\")'", filepath.Join(w.root, base)+"/work", "flows/y"))
			}
			if w.hasFile(base + "/workflows/y") {
				t.Errorf("protected path written: %q", w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}
