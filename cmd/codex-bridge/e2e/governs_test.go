//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
)

const governsConfig = `
[policy]
approval = ["on-request"]
sandbox = "workspace-write"
protected_paths = [".github/workflows"]
`

const workspacePolicy = `
[[policy.rule]]
command = "touch denied"
decision = "deny"
`

// overwrites are ways in which a command changes $F, which no reading of the command
// would find all of.
var overwrites = []string{
	`echo > $F`, `exec 3<> $F; echo x >&3`, `mv $F gone`, `echo > other && mv other $F`, `cp /dev/null $F`, `tee $F < /dev/null`, `sed -i d $F`,
	`unlink $F`, `truncate -s 0 $F`, `echo > other; ln -f other $F`, `ln -s /dev/null other && mv -f other $F`,
	`printf 'open("'$F'","w")' > s.py; python3 s.py`, `rm -f *.toml .*.toml .github/*/*`,
	`(cd $(dirname $F) && echo > $(basename $F))`, `cd ..; d=$(basename $OLDPWD); mv $d/$F $d/gone; cd $d`,
}

// overwriting is a script that tries each of the overwrites on each file, and prints the
// number of each that changed one. At the end it writes two ordinary files.
func overwriting(files map[string]string) string {
	var b strings.Builder
	for file, text := range files {
		fmt.Fprintf(&b, "F=%s\n", file)
		for i, line := range overwrites {
			fmt.Fprintf(&b, "(%s) 2>/dev/null\n[ \"$(cat $F 2>/dev/null)\" = '%s' ] || echo changed %d\n", line, text, i)
			fmt.Fprintf(&b, "{ rm -rf gone other s.py $F; echo '%s' > $F; } 2>/dev/null\n", text)
		}
	}
	b.WriteString("(mv .github moved && echo moved; mv moved .github) 2>/dev/null\n")
	b.WriteString("echo > fine && echo > .github/fine && echo ordinary files are written\n")
	return b.String()
}

// governed are files that govern the threads in a workspace.
var governed = map[string]string{".codex-bridge.toml": strings.TrimSpace(workspacePolicy), ".github/workflows/ci.yaml": "on: push"}

func (w *world) governing() {
	w.t.Helper()
	for file, text := range governed {
		w.write("workspace/"+file, text+"\n")
	}
}

// overwrites has the model run the script and returns what it printed.
func (a *agreeable) overwrites(thread string) string {
	a.t.Helper()
	a.governing()
	a.model.Add(scripted.Step{When: "OVERWRITE", Reply: scripted.Reply{scripted.Run("sh x.sh")}})
	a.write("workspace/x.sh", overwriting(governed))
	a.turn(thread, "OVERWRITE")
	_, out, _ := strings.Cut(a.world.told(), "Output:\n")
	return strings.TrimSpace(out)
}

const nothingChanged = "ordinary files are written"

// Codex alone lets a command change what governs in each of the ways.
func TestCommandsChangeWhatGovernsControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.governing()
	a := w.agreeable(codexPath, "app-server")
	out := a.overwrites(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}))
	for i, line := range overwrites {
		if strings.Count(out+"\n", fmt.Sprintf("changed %d\n", i)) != len(governed) {
			t.Errorf("%q does not change each of the files:\n%s", line, out)
		}
	}
	if !strings.Contains(out, "moved") || !strings.Contains(out, nothingChanged) {
		t.Errorf("said %q", out)
	}
	a.quit()
}

// With the bridge no command changes them, however the thread came to workspace-write.
func TestCommandsCannotChangeWhatGoverns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	w.governing()

	// A thread that codex alone has left in workspace-write.
	alone := w.agreeable(codexPath, "app-server")
	left := alone.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	turn, mark := alone.beginWith(left, "good day", map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
	alone.end(left, turn, mark)
	alone.quit()

	a := w.agreeable(proxyArgv...)
	holds := func(name, thread string) {
		t.Helper()
		if out := a.overwrites(thread); out != nothingChanged {
			t.Errorf("%s: %s", name, out)
		}
	}
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	thread := a.thread(settings)
	holds("start", thread)
	turn, mark = a.beginWith(thread, "good day", map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "writableRoots": []string{w.workspace}, "excludeSlashTmp": true}})
	a.end(thread, turn, mark)
	holds("after a turn with a sandboxPolicy", thread)
	fork := editor.Member(a.must("thread/fork", map[string]any{"threadId": thread, "cwd": w.workspace}), "thread", "id")
	holds("fork", fork)
	raised := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	a.must("thread/settings/update", map[string]any{"threadId": raised, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
	holds("raised by settings", raised)
	removed := a.must("command/exec", map[string]any{"command": []string{"rm", ".codex-bridge.toml"}, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
	if editor.Member(removed, "exitCode") == "0" || !w.left("workspace/.codex-bridge.toml") {
		t.Errorf("a command of the client's removed the policy file: %s", removed)
	}
	a.quit()

	a = w.agreeable(proxyArgv...)
	a.resume(thread, map[string]any{})
	holds("resumed", thread)
	a.resume(left, map[string]any{})
	holds("left by codex alone", left)
	a.quit()
}

// A patch in a read-only thread leaves its sandbox, though the policy's limit is
// workspace-write. Codex alone writes it when the person accepts.
func TestPatchLeavesReadOnlyThread(t *testing.T) {
	t.Parallel()
	readOnly := map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}
	for name, test := range map[string]struct {
		argv    []string
		config  string
		asked   int
		marked  bool
		written bool
	}{
		"control": {argv: []string{codexPath, "app-server"}, asked: 1, written: true},
		"deny":    {argv: proxyArgv, config: governsConfig},
		"ask":     {argv: proxyArgv, config: governsConfig + "escalation = \"ask\"\n", asked: 1, marked: true, written: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config})
			a := w.agreeable(test.argv...)
			asked := a.turn(a.thread(readOnly), "PATCH: patched\nx")
			if len(asked) != test.asked || w.left("workspace/patched") != test.written {
				t.Errorf("asked %q, written %v", asked, w.left("workspace/patched"))
			}
			if test.marked && !strings.HasPrefix(asked[0], "[codex-bridge: leaves the sandbox]") {
				t.Errorf("asked %q", asked)
			}
			a.quit()
		})
	}
}
