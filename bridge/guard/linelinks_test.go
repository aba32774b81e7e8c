//go:build !windows

package guard_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// A command that writes a protected path through links, in any folder that it changes to, is
// denied. bash shows which of the lines write one.
func TestLinesThroughLinks(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	w := world(t)
	root := w.StartFolder
	for _, folder := range []string{"sub/.github/x", "sub/.github/workflows", "plain/deep", "d"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"lnk": "sub/.github/x", "lnk2": "sub/.github", "plain/lnk": "../lnk", "gone": "sub/.github/workflows/N", "d/d": "../sub/.github", "safe": "plain/deep",
		"here": "/proc/self/cwd", "fd": "/dev/fd", "locked": "/proc/1/cwd",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if w.Home, err = w.Paths.Canonical(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"lnk": "sub/.github/x", "up": "."} {
		if err := os.Symlink(filepath.Join(root, target), filepath.Join(w.Home, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := load(t, "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\nescalation = \"deny\"\nprotected_paths = [\".git\", \".github/workflows\"]\n")
	w.Escalation = rules.Sandboxed
	w.Thread = &policy.Thread{ID: "t1", Workspace: root, Sandbox: "workspace-write", Approval: []byte(`"on-request"`)}
	written := filepath.Join(root, "sub/.github/workflows/N")
	for _, test := range []struct {
		line   string
		writes bool // bash writes the protected file
		denied bool
	}{
		{"echo W > lnk2/workflows/N", true, true},
		{"cd lnk2; echo W > workflows/N", true, true},
		{"cd lnk2/workflows; echo W > N", true, true},
		{"echo W > lnk/../workflows/N", true, true},
		{"tee lnk/../workflows/N <<< W", true, true},
		{"cd -P lnk/..; echo W > workflows/N", true, true},
		{"cd lnk; cd -P ..; echo W > workflows/N", true, true},
		{"cd lnk; echo W > ../workflows/N", true, true},
		{"cd plain/lnk; touch ../workflows/N", true, true},
		{"cd plain/lnk/..; echo W > lnk/../workflows/N", true, true},
		{"cd plain; cd deep; cd ../..; cd lnk2; echo W > workflows/N", true, true},
		{"cd -P plain/..; cd lnk2; cd -P x; cd ..; cd workflows; echo W > N", true, true},
		{"cd d; cd d; echo W > workflows/N", true, true},
		{"pushd lnk2; touch workflows/N", true, true},
		{"(cd lnk2 && touch workflows/N)", true, true},
		{"bash -c 'cd lnk2; touch workflows/N'", true, true},
		{"env -C lnk2 touch workflows/N", true, true},
		{"cd; cd lnk; touch ../workflows/N", true, true},
		{"cd ~/lnk; touch ../workflows/N", true, true},
		{"cd ~/up; cd lnk2; touch workflows/N", true, true},
		{"echo W > " + strings.Repeat("./", 2030) + "lnk2/workflows/N", true, true},
		{"echo W > " + strings.Repeat("d/../", 810) + "lnk2/workflows/N", true, true},
		{"echo W > " + strings.Repeat("d/../", 810) + "lnk/../workflows/N", true, true},
		{"echo W > gone", true, true},
		{"cd plain; echo W > ../gone", true, true},
		{"echo W > /proc/self/cwd/lnk2/workflows/N", true, true},
		{strings.Repeat("cd .;", 17) + "cd lnk2; echo W > workflows/N", true, true},
		{"echo W > here/sub/.github/workflows/N", true, true},
		{"cd sub; echo W > ../here/.github/workflows/N", true, true},
		{"cd here/sub/.github/workflows; echo W > N", true, true},
		{"cd sub/.github; cd ../../here/workflows; touch N", true, true},
		{"exec 3<> sub/.github/workflows/N; echo W > fd/3", true, true},
		{"echo W > plain/deep/N; cp plain/deep/N lnk2/workf*", true, true},
		{"for f in N; do echo W > lnk2/workflows/$f; done", true, true},
		{"exec 3<> sub/.github/workflows/N; echo W > /dev/fd/3", true, true},
		{"{ echo W > /dev/stdout; } 1<> sub/.github/workflows/N", true, true},
		{"echo W > plain/N", false, false},
		{"echo W > /dev/stderr", false, false},
		{"echo W | tee /dev/fd/2", false, false},
		{"echo W > locked/N", false, true},
		{"cat here/plain/N > plain/N", false, false},
		{"cd plain; echo W > N", false, false},
		{"cd safe; echo W > ../N", false, false},
		{"cd safe/..; echo W > N", false, false},
		{"cd lnk2; echo W > N", false, false},
		{"cd lnk; echo W > N", false, false},
		{"cat lnk2/workflows/N > plain/N", false, false},
		{"cd lnk2/workflows; ls > /dev/null", false, false},
		{"cd lnk2/workflows && ls; cd ../..", false, false},
		{strings.Repeat("cd .;", 8) + "echo W > N", false, false},
	} {
		command, err := json.Marshal(map[string]string{"command": test.line})
		if err != nil {
			t.Fatal(err)
		}
		input, err := rpc.ParseValue(command)
		if err != nil {
			t.Fatal(err)
		}
		d := toolcall.Decide(p, toolcall.Call{Name: "Bash", Shell: "bash", Cwd: root, Input: input.Root()}, w)
		if (d.Verdict == policy.Deny) != test.denied {
			t.Errorf("%s: %v, %v", test.line, d.Verdict, d.Err)
		}
		cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", test.line)
		cmd.Dir, cmd.Env = root, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Home}
		out, _ := cmd.CombinedOutput()
		if _, err := os.Stat(written); (err == nil) != test.writes {
			t.Errorf("%s: bash writes the protected file: %v, want %v: %s", test.line, err == nil, test.writes, out)
		}
		_ = os.Remove(written)
		_ = os.Remove(filepath.Join(root, "sub/.github/N"))
	}
}

// A command can open a file by a relative name where the file's whole path is longer than the kernel
// reads. Then the bridge can't find out to which file a link leads.
func TestLinesInDeepFolders(t *testing.T) {
	w := world(t)
	p := load(t, "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\nescalation = \"deny\"\nprotected_paths = [\".git\", \".github/workflows\"]\n")
	w.Escalation = rules.Sandboxed
	w.Thread = &policy.Thread{ID: "t1", Workspace: w.StartFolder, Sandbox: "workspace-write", Approval: []byte(`"on-request"`)}
	deep := strings.Repeat(strings.Repeat("a", 199)+"/", 12)
	name := strings.Repeat("b/", 2000)
	for line, denied := range map[string]bool{
		"cd " + deep + "; echo W > f":                                            false,
		"cd " + deep + "; cd " + deep + "; echo W > lnk/workflows/N":             true,
		"cd " + deep + "; cd " + deep + "lnk; echo W > workflows/N":              true,
		"cd " + deep + "; echo W > " + deep + "lnk/workflows/N":                  true,
		"cd " + deep + "; cd " + deep + "lnk; echo W > ../workflows/N":           true,
		"cd " + deep + "; cd " + deep + "; echo W > " + name + "lnk/workflows/N": true,
	} {
		command, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		input, err := rpc.ParseValue(command)
		if err != nil {
			t.Fatal(err)
		}
		d := toolcall.Decide(p, toolcall.Call{Name: "Bash", Shell: "bash", Cwd: w.StartFolder, Input: input.Root()}, w)
		if (d.Verdict == policy.Deny) != denied {
			t.Errorf("a line of %d bytes, …%s: %v, %v", len(line), line[len(line)-30:], d.Verdict, d.Err)
		}
	}
}
