//go:build linux

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// minimalClients builds the clients of editors/minimal in a temporary folder and returns their
// command lines.
func minimalClients(t *testing.T) map[string][]string {
	t.Helper()
	source := filepath.Join(repositoryRoot(t), "editors", "minimal")
	// tsc and node look for packages in parent folders, so the client is compiled below the
	// packages, as in a user's project.
	dir := t.TempDir()
	for name, target := range map[string]string{"node_modules": modules, "client.ts": filepath.Join(source, "client.ts")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, build := range [][]string{
		{"go", "build", "-o", filepath.Join(dir, "client"), "codex-bridge.example/editors/minimal"},
		{"node", filepath.Join(modules, "typescript", "bin", "tsc"), "--strict", "--noUncheckedIndexedAccess", "--preserveSymlinks",
			"--module", "nodenext", "--target", "es2022", "--typeRoots", filepath.Join(modules, "@types"), filepath.Join(dir, "client.ts")},
	} {
		if out, err := exec.CommandContext(deadline(t), build[0], build[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(build, " "), err, out)
		}
	}
	return map[string][]string{
		"Go":         {filepath.Join(dir, "client")},
		"Lua":        {neovimProgram(t), "-u", "NONE", "-l", filepath.Join(source, "client.lua")},
		"TypeScript": {"node", filepath.Join(dir, "client.js")},
	}
}

// The smallest clients print streamed text, ask and answer questions, and show errors.
func TestMinimalClients(t *testing.T) {
	t.Parallel()
	for name, argv := range minimalClients(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			bin := filepath.Join(w.root, "bin")
			if err := os.Mkdir(bin, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(proxyPath, filepath.Join(bin, "codex-bridge")); err != nil {
				t.Fatal(err)
			}
			env := append(w.env[:len(w.env):len(w.env)], "PATH="+bin+":"+os.Getenv("PATH"))
			run := func(text, typed string, env []string) (stdout, stderr string, err error) {
				cmd := exec.CommandContext(deadline(t), argv[0], append(argv[1:len(argv):len(argv)], text)...)
				cmd.Env, cmd.Dir, cmd.Stdin = env, w.workspace, strings.NewReader(typed)
				var out, errors strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &errors
				err = cmd.Run()
				return out.String(), errors.String(), err
			}
			for _, step := range []struct{ text, typed, want string }{
				{"SAY: hello äöü €", "", "hello äöü €\n"},
				{"ESCALATE: touch accepted", "y\n", "The tool ended with 0 and said: nothing\n"},
				{"ESCALATE: touch declined", "n\n", "rejected by user"},
				{"PATCH: patched.txt", "y\n", "patched.txt"},
			} {
				stdout, stderr, err := run(step.text, step.typed, env)
				if err != nil || !strings.Contains(stdout, step.want) {
					t.Errorf("%s: %v, %q\n%s", step.text, err, stdout, stderr)
				}
				if asked := strings.Count(stderr, "accept? [y/N]"); asked != strings.Count(step.typed, "\n") {
					t.Errorf("%s: %d questions: %s", step.text, asked, stderr)
				}
			}
			if !w.workspaceHasFile("accepted") || w.workspaceHasFile("declined") || !w.workspaceHasFile("patched.txt") {
				t.Error("the effect does not match the answer")
			}
			broken := append(env[:len(env):len(env)], "CODEX_BRIDGE_CONFIG="+w.write("broken.toml", "x = 1\n"))
			if _, stderr, err := run("SAY: hello", "", broken); err == nil || stderr == "" {
				t.Errorf("with a broken configuration: %v, %q", err, stderr)
			}
		})
	}
}
