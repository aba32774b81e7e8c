//go:build linux && !portable

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/rules/hiddenlines"
	"codex-bridge.example/cmd/internal/scripted"
)

// fullAccessRules are programRules for threads without a sandbox.
var fullAccessRules = strings.Replace(programRules, `sandbox = "workspace-write"`, `sandbox = "danger-full-access"`, 1)

// programWay is a way of a model to start touch with $OUT.
type programWay struct {
	name, config, codexConfig string
	sandbox                   string
	turns                     []string // $SESSION is the session of the last command
}

var programWays = []programWay{
	{name: "script without a sandbox", config: fullAccessRules, sandbox: "danger-full-access", turns: []string{`CALL: exec_command {"cmd":"./deploy.sh"}`}},
	{name: "child of Codex", config: fullAccessRules, sandbox: "danger-full-access", turns: []string{
		`CALL: exec_command {"cmd":"exec perl clone.pl"}`,
	}},
	{name: "its own line", config: programRules, sandbox: "workspace-write", turns: []string{`CALL: exec_command {"cmd":"t=touch; exec $t out \"$BASH_EXECUTION_STRING\"","shell":"/bin/bash","login":false}`}},
	{name: "typed into a shell", config: programRules, sandbox: "workspace-write", turns: []string{
		`CALL: exec_command {"cmd":"bash --norc","tty":true,"yield_time_ms":250}`, `CALL: write_stdin {"session_id":$SESSION,"chars":"touch out; exit\n","yield_time_ms":5000}`,
	}},
	{name: "code mode", config: programRules, codexConfig: "[features]\ncode_mode = true\n", sandbox: "workspace-write", turns: []string{"CODE"}},
	{name: "shell snapshot", config: programRules, codexConfig: "[features]\nshell_snapshot = true\n", sandbox: "workspace-write", turns: []string{`CALL: exec_command {"cmd":"./deploy.sh; echo late"}`}},
	{name: "orphan", config: programRules, sandbox: "workspace-write", turns: []string{`CALL: exec_command {"cmd":"(setsid sh -c 'sleep 0.3; ./deploy.sh' > /dev/null 2>&1 &); sleep 1"}`}},
}

// run runs the turns, and reports whether the program ran.
func (p programWay) run(t *testing.T, argv ...string) (ran bool, told string) {
	t.Helper()
	w := newWorld(t, options{config: p.config, codexConfig: p.codexConfig, mute: "there are many turns"})
	if err := os.Chmod(w.write("workspace/deploy.sh", "#!/bin/sh\ntouch "+filepath.Join(w.workspace, "out")+"\necho deployed\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	// clone(CLONE_PARENT | SIGCHLD), on amd64 and arm64
	w.write("workspace/clone.pl", `my $call = `+"`uname -m`"+` =~ /x86_64/ ? 56 : 220;
		if (syscall($call, 0x8000 | 17, 0, 0, 0, 0) == 0) { exec "touch", "out"; exit 1 }
		sleep 1; print "cloned\n";`)
	w.model.Add(scripted.Step{When: "CODE", Reply: scripted.Reply{scripted.CustomCall{Tool: "exec", Input: "text(JSON.stringify(await tools.exec_command({cmd:'./deploy.sh'})))"}}})
	r := w.newDecliningEditor(argv...)
	thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": p.sandbox})
	session := ""
	for _, text := range p.turns {
		turn, mark := r.startTurn(thread, strings.ReplaceAll(text, "$SESSION", session))
		r.waitTurn(thread, turn, mark)
		told = w.lastToolOutput()
		if _, id, ok := strings.Cut(told, "session ID "); ok {
			session = strings.Fields(id)[0]
		}
	}
	ran = w.attackWorked()
	r.closeAndWait()
	return ran, told
}

// A denied program starts in none of these ways. With Codex alone it does.
func TestProgramWays(t *testing.T) {
	t.Parallel()
	for _, way := range programWays {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			if ran, told := way.run(t, proxyArgv...); ran {
				t.Errorf("the program ran; the model got %q", told)
			}
		})
		t.Run(way.name+" control", func(t *testing.T) {
			t.Parallel()
			if ran, told := way.run(t, codexPath, "app-server"); !ran {
				t.Errorf("the program did not run; the model got %q", told)
			}
		})
	}
}

// A denied program starts by none of the lines that hide it, each in a script.
func TestHiddenLinesInScripts(t *testing.T) {
	t.Parallel()
	lines := hiddenlines.Generated(40, 2)
	for _, line := range hiddenlines.Named {
		lines = append(lines, line.Text)
	}
	for who, argv := range map[string][]string{"bridge": proxyArgv, "control": {codexPath, "app-server"}} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: programRules, mute: "there are many refusals"})
			for i, line := range lines {
				w.write(fmt.Sprintf("workspace/lines/%d", i), line)
			}
			w.write("workspace/all.sh", `cd lines; for f in [0-9]*; do mkdir d$f; (cd d$f; P=$PWD/marker HOME=$PWD timeout -k 1 20 bash -c "$(cat ../$f)" < /dev/null > /dev/null 2>&1); done; echo all done`)
			r := w.newDecliningEditor(argv...)
			thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
			text := `CALL: exec_command {"cmd":"bash all.sh","yield_time_ms":30000}`
			for out := ""; !strings.Contains(out, "all done"); out = w.lastToolOutput() {
				if _, id, ok := strings.Cut(out, "session ID "); ok {
					text = fmt.Sprintf(`CALL: write_stdin {"session_id":%s,"chars":"","yield_time_ms":30000}`, strings.Fields(id)[0])
				}
				turn, mark := r.startTurn(thread, text)
				r.waitTurn(thread, turn, mark)
			}
			made := 0
			for i, line := range lines {
				if w.hasFile(fmt.Sprintf("workspace/lines/d%d/marker", i)) {
					if made++; who == "bridge" {
						t.Errorf("the program ran: %s", line)
					}
				}
			}
			if who == "control" && made < len(lines)/2 {
				t.Errorf("%d of %d lines run the program", made, len(lines))
			}
			r.closeAndWait()
		})
	}
}

// hardCategories are those of hostile lines that look least like a start of the program.
var hardCategories = []string{"shebang", "procfs", "loader", "syscall", "thread", "namespace", "seccomp", "ptrace", "process", "state"}

// hardLines returns lines of these categories, a count in all.
func hardLines(t *testing.T, count int) (lines []hiddenlines.HostileLine) {
	t.Helper()
	all, err := hiddenlines.Hostile()
	if err != nil {
		t.Fatal(err)
	}
	of := make(map[string][]hiddenlines.HostileLine)
	needed := hiddenlines.Needed()
	for _, line := range slices.Backward(all) {
		if needed(line) == "" && (len(line.Shells) == 0 || slices.Contains(line.Shells, "bash")) {
			of[line.Category] = append(of[line.Category], line)
		}
	}
	for len(lines) < count {
		for _, category := range hardCategories {
			if rest := of[category]; len(rest) > 0 {
				lines, of[category] = append(lines, rest[0]), rest[1:]
			}
		}
	}
	return lines[:count]
}

// A denied program starts by none of the hardest hostile lines, each in scripts that are calls of their own: 10, and 60
// if CODEX_BRIDGE_WIDE is set.
func TestHostileLines(t *testing.T) {
	t.Parallel()
	const size = 10 // lines of a world
	count := size
	if os.Getenv("CODEX_BRIDGE_WIDE") != "" {
		count = 6 * size
	}
	part := 0
	for lines := range slices.Chunk(hardLines(t, count), size) {
		part++
		for sandbox, config := range map[string]string{"workspace-write": programRules, "danger-full-access": fullAccessRules} {
			for who, argv := range map[string][]string{"bridge": proxyArgv, "control": {codexPath, "app-server"}} {
				t.Run(fmt.Sprint(sandbox, " ", who, " ", part), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, options{config: config, mute: "there are many refusals"})
					ran := w.runHostile(lines, sandbox, argv)
					for i, line := range lines {
						switch {
						case who == "bridge" && ran[i]:
							t.Errorf("the program ran: %q", line.Texts("MARKER"))
						case who == "control" && !ran[i]:
							t.Logf("it runs no program: %q", line.Texts("MARKER"))
						}
					}
					if made := len(lines) - len(slices.DeleteFunc(ran, func(ran bool) bool { return ran })); who == "control" && made < len(lines)/2 {
						t.Errorf("%d of %d lines run the program", made, len(lines))
					}
				})
			}
		}
	}
}

// runHostile runs lines in a sandbox. It reports which of them have run the program.
func (w *world) runHostile(lines []hiddenlines.HostileLine, sandbox string, argv []string) (ran []bool) {
	r := w.newDecliningEditor(argv...)
	thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": sandbox})
	for i, line := range lines {
		folder := fmt.Sprint("workspace/", i)
		w.write(folder+"/.keep", "")
		for j, text := range line.Texts(filepath.Join(w.root, folder, "marker")) {
			w.write(fmt.Sprint(folder, ".", j), text)
			r.runLine(thread, fmt.Sprintf(`cd %d; HOME=$PWD timeout -k 1 20 bash -c "$(< ../%d.%d)" < /dev/null > ../out%d 2>&1`, i, i, j, i), map[string]any{"yield_time_ms": 25000})
		}
		ran = append(ran, w.hasFile(folder+"/marker"))
	}
	for i := range lines { // some run in the background
		ran[i] = ran[i] || w.hasFile(fmt.Sprintf("workspace/%d/marker", i))
	}
	r.closeAndWait()
	return ran
}

// Programs of Codex's servers and of hooks are not decided by rules for commands.
func TestProgramsOfCodexItselfStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: programRules})
	for _, name := range []string{"server", "sandboxed-server", "hook"} {
		script := w.write(name, "#!/bin/sh\ntouch "+filepath.Join(w.root, "made-by-a-"+name)+"\n")
		if err := os.Chmod(script, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.write("home/config.toml", w.read("home/config.toml")+fmt.Sprintf("\n[mcp_servers.marker]\ncommand = %q\n[mcp_servers.sandboxed]\ncommand = %q\nargs = [\"--dev-bind\", \"/\", \"/\", %q]\n",
		filepath.Join(w.root, "server"), filepath.Join(filepath.Dir(codexPath), "..", "codex-resources", "bwrap"), filepath.Join(w.root, "sandboxed-server")))
	w.write("home/hooks.json", fmt.Sprintf(`{"hooks":{"PreToolUse":[{"matcher":".*","hooks":[{"type":"command","command":%q}]}]}}`, filepath.Join(w.root, "hook")))
	w.trustHooks()
	r := w.newDecliningEditor(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	r.runLine(thread, "t=touch; $t out; echo ran", nil)
	if w.attackWorked() {
		t.Errorf("the program of the call ran; the model got %q", w.lastToolOutput())
	}
	for _, who := range []string{"server", "sandboxed-server", "hook"} {
		if !w.hasFile("made-by-a-" + who) {
			t.Errorf("the program of the %s did not run", who)
		}
	}
	r.closeAndWait()
}
