//go:build linux && !portable

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// programRules deny one program, wherever it starts.
const programRules = `
[policy]
mode = "enforce"
approval = ["never", "untrusted", "on-request"]
sandbox = "workspace-write"
[[policy.rule]]
command = "touch **"
decision = "deny"
reason = "Nothing is touched here."
`

// programWorld has a script that hides a denied program.
func programWorld(t *testing.T, config string) *world {
	t.Helper()
	w := newWorld(t, options{config: config, mute: "there are many turns"})
	w.writeDeploy()
	return w
}

// writeDeploy writes the script that hides a denied program.
func (w *world) writeDeploy() {
	w.t.Helper()
	if err := os.Chmod(w.write("workspace/deploy.sh", "#!/bin/sh\ntouch "+filepath.Join(w.workspace, "out")+"\necho deployed\n"), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// A denied program does not start in a script, and the model reads why.
func TestProgramInScriptDoesNotStart(t *testing.T) {
	t.Parallel()
	w := programWorld(t, programRules)
	r := w.newDecliningEditor(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	r.runLine(thread, "./deploy.sh", nil)
	if w.attackWorked() {
		t.Error("the program ran")
	}
	out := w.lastToolOutput()
	for _, want := range []string{"deployed", "Operation not permitted"} {
		if !strings.Contains(out, want) {
			t.Errorf("the model got %q, without %q", out, want)
		}
	}
	const told = "codex-bridge refused to start these programs"
	if _, err := w.model.Await(r.ctx, func(q scripted.Request) bool { return strings.Contains(string(q.Body), told) }); err != nil {
		t.Errorf("the model was not told why: %v", err)
	}
	r.closeAndWait()
}

// Without the supervisor the script hides the program.
func TestProgramInScriptControl(t *testing.T) {
	t.Parallel()
	w := programWorld(t, strings.Replace(programRules, "[policy]\n", "[policy]\nexec_rules = \"off\"\n", 1))
	r := w.newDecliningEditor(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	if r.runLine(thread, "./deploy.sh", nil); !w.attackWorked() {
		t.Errorf("the program did not run: %q", w.lastToolOutput())
	}
	r.closeAndWait()
}

// A program about which a rule asks waits for the person, who sees it. A program that the line names is asked about
// once, before the line.
func TestProgramIsAskedAbout(t *testing.T) {
	t.Parallel()
	w := programWorld(t, strings.Replace(programRules, `"deny"`, `"ask"`, 1))
	r := w.newDecliningEditor(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	for _, test := range []struct {
		name, line string
		accepts    bool
		asks       int
		command    string
	}{
		{"in a script, declined", "./deploy.sh", false, 1, "/usr/bin/touch " + filepath.Join(w.workspace, "out")},
		{"in a script", "./deploy.sh", true, 1, "/usr/bin/touch " + filepath.Join(w.workspace, "out")},
		{"in the line", "touch out", true, 1, "touch out"},
		{"in the line, and another in a script", "touch out; ./deploy.sh", true, 2, "/usr/bin/touch " + filepath.Join(w.workspace, "out")},
		{"twice", "./deploy.sh; ./deploy.sh", true, 1, "/usr/bin/touch " + filepath.Join(w.workspace, "out")},
	} {
		r.answer = func(editor.Message) any {
			if test.accepts {
				return decision("accept")
			}
			return decision("decline")
		}
		reasons := r.runLine(thread, test.line, nil)
		if len(reasons) != test.asks {
			t.Fatalf("%s: %d questions: %q; the model got %q", test.name, len(reasons), reasons, w.lastToolOutput())
		}
		last := r.asked[len(r.asked)-1]
		if got := last.Param("command"); got != test.command {
			t.Errorf("%s: the question was about %q, want %q", test.name, got, test.command)
		}
		if isPart := last.Param("approvalId") != ""; isPart != (test.line != "touch out") || !strings.Contains(last.Param("reason"), "Nothing is touched here") || isPart && !strings.Contains(last.Param("reason"), "deploy.sh") {
			t.Errorf("%s: the question was %s", test.name, last.Params)
		}
		if ran := w.attackWorked(); ran != test.accepts {
			t.Errorf("%s: the program ran: %v; the model got %q", test.name, ran, w.lastToolOutput())
		}
	}
	r.closeAndWait()
}

// An accepted program may start others that the same rule asks about. Those beside it are asked about.
func TestProgramOfAcceptedProgram(t *testing.T) {
	t.Parallel()
	w := programWorld(t, strings.NewReplacer(`"deny"`, `"ask"`, `"touch **"`, `"{touch,again.sh} **"`).Replace(programRules))
	for name, text := range map[string]string{
		"again.sh":  "#!/bin/sh\n[ -n \"$1\" ] && exec touch \"$1\"\n./again.sh out\n",
		"beside.sh": "#!/bin/sh\n(while [ ! -e out ]; do sleep 0.01; done; touch beside) &\n./again.sh\nwait\n",
	} {
		if err := os.Chmod(w.write("workspace/"+name, text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := w.newDecliningEditor(proxyArgv...)
	r.answer = func(editor.Message) any { return decision("accept") }
	thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	if reasons := r.runLine(thread, "./again.sh", nil); len(reasons) != 1 || !w.attackWorked() {
		t.Errorf("%d questions: %q; the model got %q", len(reasons), reasons, w.lastToolOutput())
	}
	if reasons := r.runLine(thread, "./beside.sh", nil); len(reasons) != 2 || !w.attackWorked() {
		t.Errorf("%d questions with a program beside it: %q; the model got %q", len(reasons), reasons, w.lastToolOutput())
	}
	r.closeAndWait()
}

// Under audit nothing is refused, and the log has the program.
func TestProgramUnderAudit(t *testing.T) {
	t.Parallel()
	w := programWorld(t, strings.Replace(programRules, `mode = "enforce"`, "mode = \"audit\"\nexec_rules = \"on\"", 1)+"[hooks]\n")
	r := w.newDecliningEditor(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	if r.runLine(thread, "./deploy.sh", nil); !w.attackWorked() {
		t.Errorf("the program did not run: %q", w.lastToolOutput())
	}
	r.closeAndWait()
	if log := w.bridgeCommand("decisions", "list"); !strings.Contains(log, "program/start") {
		t.Errorf("the decision log has no program:\n%s", log)
	}
}

// Below another supervisor there is no second one. With "on" no Codex starts, and the error says why and how to go on;
// with "auto" it does, the log and doctor say so, and lines are judged as without it.
func TestProgramsBelowAnotherSupervisor(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]struct {
		status int
		stderr string
	}{
		"on":   {2, `policy.exec_rules is "on"`},
		"auto": {0, "rules for commands are applied to the lines of commands alone"},
	} {
		w := programWorld(t, strings.Replace(programRules, "[policy]\n", "[policy]\nexec_rules = \""+setting+"\"\n", 1))
		below := func(args ...string) (out string, status int) {
			s := supervise.New(supervise.Options{Required: true, Decide: func(context.Context, supervise.Start) bool { return true }})
			cmd := exec.CommandContext(deadline(t), proxyPath, args...)
			var text bytes.Buffer
			cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append(slices.Clip(w.env), "COLUMNS=1000"), w.workspace, &text, &text
			if err := s.Start(cmd, (*exec.Cmd).Start); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Fatal(err)
			}
			return text.String(), cmd.ProcessState.ExitCode()
		}
		out, status := below("app-server")
		if status != want.status || !strings.Contains(out, want.stderr) || !strings.Contains(out, "outer codex-bridge") {
			t.Errorf("%s: status %d, %q", setting, status, out)
		}
		if out, _ := below("doctor"); !strings.Contains(out, "outer codex-bridge") {
			t.Errorf("%s: doctor says %q", setting, out)
		}
	}
}
