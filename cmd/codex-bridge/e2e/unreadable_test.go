//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const protectedConfig = `
[policy]
mode = "enforce"
approval = ["on-request"]
sandbox = "workspace-write"
escalation = "deny"
protected_paths = [".git", ".codex", ".agents", ".github/workflows"]
`

const secretRule = `
[[policy.rule]]
path = "${workspace}/secret/**"
decision = "deny"
reason = "It is secret."
`

// runsLines runs each line in a turn of its own and returns those that have written their file. In
// a line, FILE is a name in folder.
func runsLines(t *testing.T, config, folder string, argv []string, lines []string) (written []string) {
	t.Helper()
	w := newWorld(t, options{codexConfig: inWorkspace, config: config})
	for _, file := range []string{"secret/here", "plain/here", "sub/.github/workflows/here", "sub/.github/x/here"} {
		w.write("workspace/"+file, "here\n")
	}
	for link, target := range map[string]string{"lnk": "sub/.github/x", "lnk2": "sub/.github", "safe": "plain", "here": "/proc/self/cwd"} {
		if err := os.Symlink(target, filepath.Join(w.workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	a := w.newAcceptingEditor(argv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	for i, line := range lines {
		name := fmt.Sprintf("n%d", i)
		input, err := json.Marshal(map[string]string{"cmd": strings.ReplaceAll(line, "FILE", name)})
		if err != nil {
			t.Fatal(err)
		}
		a.turn(thread, "CALL: exec_command "+string(input))
		if w.hasFile("workspace/" + folder + "/" + name) {
			written = append(written, line)
		} else {
			t.Logf("%s: not written: %.150q", line, w.lastToolOutput())
		}
	}
	a.closeAndWait()
	return written
}

// checkLines checks that Codex alone runs all lines, and that the bridge denies those that break
// the policy.
func checkLines(t *testing.T, config, folder string, lines []string) {
	t.Helper()
	if written := runsLines(t, config, folder, []string{codexPath, "app-server"}, lines); len(written) != len(lines) {
		t.Errorf("control: Codex alone wrote the file of %d of %d lines", len(written), len(lines))
	}
	for _, line := range runsLines(t, config, folder, proxyArgv, lines) {
		t.Errorf("the bridge lets this run: %s", line)
	}
}

// A rule that denies a path denies a line that may write any file.
func TestUnreadableLinesAndPathRules(t *testing.T) {
	t.Parallel()
	checkLines(t, protectedConfig+secretRule, "secret", []string{
		"echo 'echo W > secret/FILE' | sh",
		"x='echo W > secret/FILE'; eval \"$x\"",
		". <(echo 'echo W > secret/FILE')",
		"git -c alias.x='!echo W > secret/FILE' x",
		"echo W > /proc/self/cwd/secret/FILE",
		"echo W > here/secret/FILE",
	})
}

// Links, in any folder to which a line changes, do not lead into a protected path.
func TestLinesThroughLinks(t *testing.T) {
	t.Parallel()
	checkLines(t, protectedConfig, "sub/.github/workflows", []string{
		"cd lnk2; echo W > workflows/FILE",
		"echo W > lnk/../workflows/FILE",
		"cd lnk; echo W > ../workflows/FILE",
		"cd lnk; cd -P ..; echo W > workflows/FILE",
		"echo W > here/sub/.github/workflows/FILE",
		"cd sub; echo W > ../here/.github/workflows/FILE",
	})
}

// The bridge lets ordinary lines run beside such a rule and such a path.
func TestOrdinaryLinesBesidePathRules(t *testing.T) {
	t.Parallel()
	lines := []string{
		"cd plain && touch FILE",
		"cd safe; cd ..; touch plain/FILE",
		"echo W > plain/FILE 2> /dev/null",
		"ls | xargs echo > plain/FILE",
		"bash -c 'touch plain/FILE'",
		"echo $(ls) > plain/FILE",
	}
	if written := runsLines(t, protectedConfig+secretRule, "plain", proxyArgv, lines); len(written) != len(lines) {
		t.Errorf("ran only %q", written)
	}
}
