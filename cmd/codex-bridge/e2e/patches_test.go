//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// patchConfig makes Codex ask about every patch; since it protects .github/workflows too, a hook also sees
// each one.
const patchConfig = `
[policy]
approval = ["untrusted"]
sandbox = "workspace-write"
protected_paths = [".git", ".codex", ".agents", ".github/workflows"]
`

// patchConfigWithoutHook protects the default folders only, so that the question alone decides.
const patchConfigWithoutHook = `
[policy]
approval = ["untrusted"]
sandbox = "workspace-write"

[hooks]
events = ["stop"]
`

// patchTry is a patch that writes WORD to a file. $ROOT and $CWD stand for the world's folders.
type patchTry struct {
	patch string // less its first and last line
	shell string // the command of a shell line that holds it; "" none
	open  bool   // the delimiter of the here-document is not quoted
	kept  bool   // codex's sandbox keeps it from an accepted patch, too
	file  string // that has it then, under the root
}

var patchTries = map[string]patchTry{
	"outside":           {patch: "*** Add File: $ROOT/outside/new\n+WORD", file: "outside/new"},
	"above":             {patch: "*** Add File: ../outside/above\n+WORD", file: "outside/above"},
	"beside another":    {patch: "*** Add File: fine\n+fine\n*** Add File: $ROOT/outside/second\n+WORD", file: "outside/second"},
	"moved":             {patch: "*** Update File: here\n*** Move to: $ROOT/outside/moved\n@@\n-here\n+WORD", file: "outside/moved"},
	"moved and back":    {patch: "*** Update File: $ROOT/outside/there\n*** Move to: taken\n@@\n-there\n+WORD", file: "workspace/taken"},
	"in the shell":      {patch: "*** Add File: $ROOT/outside/shell\n+WORD", shell: "apply_patch", file: "outside/shell"},
	"by its other name": {patch: "*** Add File: $ROOT/outside/other\n+WORD", shell: "applypatch", file: "outside/other"},
	"deeper, by that":   {patch: "*** Add File: sub/.github/workflows/a\n+WORD", shell: "applypatch", file: "workspace/sub/.github/workflows/a"},
	"behind cd":         {patch: "*** Add File: workflows/b\n+WORD", shell: "cd 'sub/.github' && apply_patch", file: "workspace/sub/.github/workflows/b"},
	"cd, substituted":   {patch: "*** Add File: workflows/c\n+WORD", shell: `cd "sub/.github$(true)" && apply_patch`, file: "workspace/sub/.github/workflows/c"},
	"cd, assigned":      {patch: "*** Add File: workflows/d\n+WORD", shell: "A=1 cd sub/.github && apply_patch", file: "workspace/sub/.github/workflows/d"},
	"cd, continued":     {patch: "*** Add File: workflows/e\n+WORD", shell: "cd\\\nsub/.github && apply_patch", file: "workspace/sub/.github/workflows/e"},
	"cd, vertical tab":  {patch: "*** Add File: workflows/g\n+WORD", shell: "cd\vsub/.github && apply_patch", file: "workspace/sub/.github/workflows/g"},
	"cd, form feed":     {patch: "*** Add File: workflows/h\n+WORD", shell: "cd\fsub/.github && apply_patch", file: "workspace/sub/.github/workflows/h"},
	"cd, two parts":     {patch: "*** Add File: workflows/j\n+WORD", shell: `cd "$(true)sub/.github" && apply_patch`, file: "workspace/sub/.github/workflows/j"},
	"a blank in front":  {patch: "*** Add File:  /../sub/.github/workflows/k\n+WORD", file: "workspace/sub/.github/workflows/k"},
	"blank, shell":      {patch: "*** Add File:  /../workflows/l\n+WORD", shell: "cd sub/.github && apply_patch", file: "workspace/sub/.github/workflows/l"},
	"a tab in a name":   {patch: "*** Add File: sub/.git\thub/workflows/m\n+WORD", file: "workspace/sub/.github/workflows/m"},
	"a tab in dots":     {patch: "*** Add File: sub/.github/x/.\t./workflows/p\n+WORD", shell: "apply_patch", file: "workspace/sub/.github/workflows/p"},
	"a backslash":       {patch: "*** Add File: sub/.github/workflows/n\n+WORD\\n", shell: "apply_patch", file: "workspace/sub/.github/workflows/n"},
	"an expansion":      {patch: "*** Add File: sub/.github/workflows/o\n+WORD$HOME", shell: "apply_patch", open: true, file: "workspace/sub/.github/workflows/o"},
	"folder of a link":  {patch: "*** Add File: way/linked\n+WORD", kept: true, file: "outside/linked"},
	"link":              {patch: "*** Update File: link\n@@\n-victim\n+WORD", kept: true, file: "outside/victim"},
	"link to nothing":   {patch: "*** Add File: dangling\n+WORD", kept: true, file: "outside/dangling"},
	".git":              {patch: "*** Add File: .git/hooks/pre-commit\n+WORD", file: "workspace/.git/hooks/pre-commit"},
	".codex":            {patch: "*** Add File: .codex/config.toml\n+WORD", file: "workspace/.codex/config.toml"},
	".agents, deeper":   {patch: "*** Add File: sub/.agents/skill\n+WORD", file: "workspace/sub/.agents/skill"},
	"protected by name": {patch: "*** Add File: $CWD/.github/workflows/ci.yml\n+WORD", file: "workspace/.github/workflows/ci.yml"},
	"codex's own":       {patch: "*** Add File: $ROOT/home/rules/own.rules\n+WORD", file: "home/rules/own.rules"},
}

// applyPatch makes the model apply a patch. It reports whether the file was written, and the number
// of questions.
func (a *acceptingEditor) applyPatch(thread string, p patchTry) (written bool, asked int) {
	a.t.Helper()
	text := "*** Begin Patch\n" + strings.NewReplacer("$ROOT", a.root, "$CWD", a.workspace).Replace(p.patch) + "\n*** End Patch\n"
	var call scripted.Item = scripted.CustomCall{Tool: "apply_patch", Input: text}
	if p.shell != "" {
		delimiter := "'EOF'"
		if p.open {
			delimiter = "EOF"
		}
		call = scripted.Run(p.shell + " <<" + delimiter + "\n" + text + "EOF\n")
	}
	a.model.Add(scripted.Step{When: "APPLY", Reply: scripted.Reply{call}})
	asked = len(a.turn(thread, "APPLY"))
	b, _ := os.ReadFile(filepath.Join(a.root, p.file)) // a missing file is empty
	return strings.Contains(string(b), "WORD"), asked
}

// inWorkspace makes the temporary folders read-only in Codex's sandbox.
const inWorkspace = "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n"

// openPatching opens a thread with the files that the patches need.
func (w *world) openPatching(argv ...string) (a *acceptingEditor, thread string) {
	w.t.Helper()
	w.write("workspace/here", "here\n")
	w.write("workspace/.git/hooks/here", "")
	w.write("home/rules/here", "")
	w.write("workspace/sub/.github/here", "")
	w.write("workspace/sub/.agents/here", "")
	w.write("outside/there", "there\n")
	w.write("outside/victim", "victim\n")
	for name, to := range map[string]string{"way": "outside", "link": "outside/victim", "dangling": "outside/dangling"} {
		if err := os.Symlink(filepath.Join(w.root, to), filepath.Join(w.workspace, name)); err != nil {
			w.t.Fatal(err)
		}
	}
	a = w.newAcceptingEditor(argv...)
	return a, a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
}

// Codex writes an accepted patch anywhere, except through a link to a folder that its sandbox makes
// read-only. (Its question has no paths.)
func TestPatchesWithoutBridge(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"in the sandbox": "", "outside of it": inWorkspace} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codexConfig: config})
			w.env = append(w.env, "TMPDIR="+filepath.Join(w.root, "outside"))
			a, thread := w.openPatching(codexPath, "app-server")
			for name, p := range patchTries {
				if written, _ := a.applyPatch(thread, p); written != (config == "" || !p.kept) {
					t.Errorf("%s: written %t; the model got %q", name, written, a.world.lastToolOutput())
				}
			}
			a.closeAndWait()
		})
	}
}

// With a client that accepts everything, no patch writes outside the policy's limits, seen by a
// hook or only by the question. Without the hook, .agents stands for .github, which is not protected then.
func TestPatchesStayInPolicy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config, output string
		names          *strings.Replacer
	}{
		"hook":     {patchConfig, "it would leave the sandbox", strings.NewReplacer()},
		"question": {patchConfigWithoutHook, "rejected by user", strings.NewReplacer(".github", ".agents", ".git\thub", ".age\tnts")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, thread := newWorld(t, options{codexConfig: inWorkspace, config: test.config}).openPatching(proxyArgv...)
			for name, p := range patchTries {
				if !isSampledName(2, name) {
					continue
				}
				p.patch, p.shell, p.file = test.names.Replace(p.patch), test.names.Replace(p.shell), test.names.Replace(p.file)
				if written, asked := a.applyPatch(thread, p); written || asked > 0 || a.hasFile("workspace/fine") {
					t.Errorf("%s: written %t, %d questions", name, written, asked)
				}
				want := test.output
				if output := a.world.lastToolOutput(); !strings.Contains(output, want) {
					t.Errorf("%s: the model got %q", name, output)
				}
			}
			for _, name := range []string{"inside", "sub/inside", ".github/inside"} {
				p := patchTry{patch: "*** Add File: " + name + "\n+WORD", file: "workspace/" + name}
				if written, asked := a.applyPatch(thread, p); !written || asked != 1 {
					t.Errorf("%s: written %t, %d questions; the model got %q", name, written, asked, a.world.lastToolOutput())
				}
			}
			a.closeAndWait()
		})
	}
}

// A deny rule for a path counts for a patch whose names Codex reads in a way of its own, and for one
// that is not fully known. Without the rule, Codex writes each file.
func TestPatchesOfDeniedPath(t *testing.T) {
	t.Parallel()
	const rule = "[[policy.rule]]\npath = \"${workspace}/secret/**\"\ndecision = \"deny\"\nreason = \"It is secret.\"\n"
	tries := map[string]patchTry{
		"plain":           {patch: "*** Add File: secret/a\n+WORD", file: "workspace/secret/a"},
		"a blank":         {patch: "*** Add File:  /../secret/b\n+WORD", file: "workspace/secret/b"},
		"a blank, shell":  {patch: "*** Add File:  /../c\n+WORD", shell: "cd secret && apply_patch", file: "workspace/secret/c"},
		"a tab":           {patch: "*** Add File: sec\tret/d\n+WORD", file: "workspace/secret/d"},
		"a tab, shell":    {patch: "*** Add File: sec\tret/e\n+WORD", shell: "apply_patch", file: "workspace/secret/e"},
		"a backslash":     {patch: "*** Add File: secret/f\n+WORD\\n", shell: "apply_patch", file: "workspace/secret/f"},
		"an expansion":    {patch: "*** Add File: secret/g\n+WORD$HOME", shell: "apply_patch", open: true, file: "workspace/secret/g"},
		"cd with a break": {patch: "*** Add File: h\n+WORD", shell: "cd\vsecret && apply_patch", file: "workspace/secret/h"},
	}
	for _, denied := range []bool{false, true} {
		t.Run(map[bool]string{true: "rule", false: "no rule"}[denied], func(t *testing.T) {
			t.Parallel()
			config := "[policy]\nmode = \"enforce\"\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nescalation = \"ask\"\n"
			if denied {
				config += rule
			}
			w := newWorld(t, options{codexConfig: inWorkspace, config: config})
			w.write("workspace/secret/here", "here\n")
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			for name, p := range tries {
				if written, _ := a.applyPatch(thread, p); written == denied {
					t.Errorf("%s: written %t; the model was told %q", name, written, a.world.lastToolOutput())
				}
			}
			a.closeAndWait()
		})
	}
}
