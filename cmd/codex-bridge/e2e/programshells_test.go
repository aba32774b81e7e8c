//go:build linux && !portable

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shellRulesForPrograms deny touch, and the shells of lines, which are not decided.
const shellRulesForPrograms = programRules + `
[[policy.rule]]
command = "{bash,dash,sh,zsh} {-c,-lc} **"
decision = "deny"
`

// userShells are the shells of the user in /etc/passwd, from which alone Codex 0.171 takes them, and those that it
// starts: it takes bash for a shell that it does not know.
var userShells = map[string]string{"bash": "bash", "zsh": "zsh", "sh": "sh", "dash": "bash"}

// shellCalls have the arguments that choose the shell of a call, and that shell; "" for that of the user. Codex takes
// sh for dash and for shells that it does not know.
var shellCalls = []struct {
	arguments map[string]any
	shell     string
}{
	{nil, ""}, {map[string]any{"login": false}, ""}, {map[string]any{"shell": "zsh"}, "zsh"}, {map[string]any{"shell": "dash"}, "sh"},
	{map[string]any{"shell": "fish", "login": false}, "sh"},
}

// codexOfUser returns a Codex that sees another /etc/passwd, in which the user has a shell.
func (w *world) codexOfUser(shell string) string {
	w.t.Helper()
	for _, name := range []string{shell, "zsh", "dash"} {
		if _, err := exec.LookPath(name); err != nil {
			w.t.Fatalf("%v: sh testdata/shells.sh installs it", err)
		}
	}
	program, _ := exec.LookPath(shell)
	passwd := w.write("passwd", "root:x:0:0:root:/root:"+program+"\n")
	script := w.write("codex", fmt.Sprintf("#!/bin/sh\nexec unshare -Urm sh -c 'mount --bind %s /etc/passwd && exec \"$@\"' sh %s \"$@\"\n", passwd, codexPath))
	for file, mode := range map[string]os.FileMode{passwd: 0o644, script: 0o755} {
		if err := os.Chmod(file, mode); err != nil {
			w.t.Fatal(err)
		}
	}
	return script
}

// A denied program does not start in a script, in each shell of the user and of the model, with and without the snapshot
// of the user's shell. The shell is not decided, but the programs in the user's profile are, which a
// login shell reads for the call. With Codex alone all start.
func TestProgramsOfShells(t *testing.T) {
	t.Parallel()
	for user, starts := range userShells {
		if starts == "bash" && !wide() {
			continue // other tests have it
		}
		for _, snapshot := range []bool{true, false} {
			for _, who := range []string{"bridge", "control"} {
				t.Run(fmt.Sprintf("%s, snapshot %v, %s", user, snapshot, who), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, options{config: shellRulesForPrograms, codexConfig: fmt.Sprintf("[features]\nshell_snapshot = %v\n", snapshot), mute: "there are many turns"})
					if err := os.Chmod(w.write("workspace/deploy.sh", "#!/bin/sh\ntouch out\necho deployed\n"), 0o755); err != nil {
						t.Fatal(err)
					}
					for _, file := range []string{".profile", ".zprofile", ".bash_profile"} {
						w.write("user/"+file, "/usr/bin/touch \"$TMPDIR/of-profile\"\n")
					}
					codex, argv := w.codexOfUser(user), proxyArgv
					w.env = append(w.env, "CODEX_BRIDGE_CODEX="+codex)
					if who == "control" {
						argv = []string{codex, "app-server"}
					}
					r := w.newDecliningEditor(argv...)
					thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
					for _, one := range shellCalls {
						shell := one.shell
						if shell == "" {
							shell = starts
						}
						r.runLine(thread, `./deploy.sh; echo "by $0"`, one.arguments)
						out := w.lastToolOutput()
						if ran := w.attackWorked(); ran != (who == "control") || !strings.Contains(out, "deployed") || !strings.Contains(out, "/bin/"+shell+"\n") {
							t.Errorf("%v: the program ran: %v; the model got %q", one.arguments, ran, out)
						}
					}
					if snapshots, _ := filepath.Glob(filepath.Join(w.home, "shell_snapshots", "*")); (len(snapshots) > 0) != snapshot {
						t.Errorf("snapshots: %q", snapshots)
					}
					if made := w.hasFile("home.tmp/of-profile"); made != (snapshot || who == "control") { // by the shell of the snapshot
						t.Errorf("the program of the user's profile ran: %v", made)
					}
					r.closeAndWait()
				})
			}
		}
	}
}
