//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/cmd/internal/scripted"
)

// runShell runs codex-bridge with these arguments, as a script does. stderr is without Codex's warning that the machine has no
// bubblewrap.
func (w *world) runShell(stdin string, args ...string) (stdout, stderr string, status int) {
	w.t.Helper()
	cmd := exec.CommandContext(deadline(w.t), proxyPath, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = w.env, w.workspace, strings.NewReader(stdin)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return out.String(), noBubblewrap.ReplaceAllString(problems.String(), ""), cmd.ProcessState.ExitCode()
}

var noBubblewrap = regexp.MustCompile("(?m)^warning: Codex could not find bubblewrap on PATH.*\n")

// A script gets only the reply, and the outcome as an exit status.
func TestRunInAPipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n"})
	for _, step := range []struct {
		name, stdin string
		args        []string
		out, err    string // err: a part of it
		status      int
	}{
		{"text", "", []string{"--session", "s", "SAY: first"}, "first\n", "", 0},
		{"standard input", "SAY: from a pipe", []string{"--session", "s"}, "from a pipe\n", "", 0},
		{"several messages", "", []string{"--session", "s", "SAY: one\nSAY: two"}, "two\n", "", 0},
		{"an approval", "", []string{"--session", "s", "RUN: touch made"}, "", `warning: codex-bridge has refused "touch made": `, 0},
		{"failed", "", []string{"--session", "s", "FAIL"}, "", "the turn has failed: ", 1},
		{"late", "", []string{"--session", "s", "--timeout", "300ms", "SLOW: 60000"}, "", "timed out after 300ms", 124},
		{"blank", " ", []string{"--session", "s"}, "", "blank", 2},
		{"no session", "", []string{"text"}, "", "--session", 2},
		{"a bad trigger", "", []string{"--session", "s", "--trigger", "moon", "x"}, "", "trigger", 2},
	} {
		out, problems, status := w.runShell(step.stdin, append([]string{"run"}, step.args...)...)
		if status != step.status || step.out != "" && out != step.out || !strings.Contains(problems, step.err) || step.err == "" && problems != "" {
			t.Errorf("%s: status %d, %q, on stderr %q", step.name, status, out, problems)
		}
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "made")); err == nil {
		t.Error("a command ran without approval")
	}
	requests := w.model.Requests()
	if len(requests) == 0 || !requests[len(requests)-1].Contains("from a pipe") {
		t.Error("the session lost its history")
	}

	out, problems, status := w.runShell("", "run", "--session", "other", "--json", "--trigger", "cron", "SAY: as events")
	last := ""
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
		last = line
	}
	if status != 0 || problems != "" || !strings.Contains(out, `{"event":"turn/started"`) || !strings.HasPrefix(last, `{"event":"result"`) ||
		!strings.Contains(last, `"text":"as events"`) {
		t.Errorf("--json: status %d, %s on stderr %q", status, out, problems)
	}
	if !w.modelReceived("A schedule started this turn") {
		t.Error("the model did not get the trigger of the turn")
	}

	// A session in use by another process, and an invalid configuration.
	c := w.open(proxyArgv...).initializeWithBridge()
	c.runSessionTurn("held", "SAY: mine", nil)
	if _, problems, status := w.runShell("", "run", "--session", "held", "x"); status != 3 || !strings.Contains(problems, fmt.Sprint(c.Process.Pid)) {
		t.Errorf("a session of another process: status %d, %q", status, problems)
	}
	w.write("config.toml", "[polic]\n")
	if _, problems, status := w.runShell("", "run", "--session", "s", "x"); status != 2 || !strings.Contains(problems, "polic") {
		t.Errorf("a bad configuration: status %d, %q", status, problems)
	}
}

// A script reads on stderr what the policy has refused and changed, each once, as with exec. The refusal
// of a request of run itself is its error.
func TestRunShowsDecisions(t *testing.T) {
	t.Parallel()
	rule := "[[policy.rule]]\ncommand = \"touch forbidden\"\ndecision = \"deny\"\nreason = \"It is made elsewhere.\"\n"
	w := newWorld(t, options{config: "[policy]\nsandbox = \"workspace-write\"\n" + rule})
	for changed, argv := range map[string][]string{
		"has changed sandbox to workspace-write: danger-full-access is more than": {"run", "--session", "s", "--sandbox", "danger-full-access"},
		"has removed -s danger-full-access":                                       {"exec", "--skip-git-repo-check", "-s", "danger-full-access"},
	} {
		_, problems, status := w.runShell("", append(argv, "RUN: touch forbidden")...)
		for _, want := range []string{changed, `has refused "touch forbidden": It is made elsewhere: touch forbidden. The setting is policy.rule in user `} {
			if status != 0 || strings.Count(problems, "warning: codex-bridge "+want) != 1 {
				t.Errorf("%s: status %d, not once %q: %s", argv[0], status, want, problems)
			}
		}
	}
	w.write("config.toml", "[policy]\n[policy.methods]\n\"turn/start\" = \"deny\"\n")
	_, problems, status := w.runShell("", "run", "--session", "t", "SAY: x")
	if status != 4 || strings.Count(problems, "\n") != 1 || !strings.Contains(problems, "codex-bridge: turn/start: ") {
		t.Errorf("a refused turn: status %d, %s", status, problems)
	}
}

// At a terminal a warning is wrapped, and so is an error of the app-server that run starts.
func TestRunWrapsErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[approvals]\n"})
	w.runShell("", "run", "--session", "s", "SAY: hello")
	for _, want := range []string{"ignored --cwd: the session goes on with its thread", `policy.sandbox: "readonly" is not a known value`} {
		text, _ := w.runAtTerminal("", "--session", "s", "--cwd", ".", "SAY: hello")
		_, message, _ := strings.Cut(text, "codex-bridge: ")
		first, second, _ := strings.Cut(message, "\r\n")
		if joined := first + strings.Replace(second, " ", "", 1); !strings.Contains(joined, want) || strings.Contains(first, "\n") ||
			!strings.HasPrefix(second, "  ") || len("codex-bridge: "+first) > 100 {
			t.Errorf("not %q: %q", want, text)
		}
		w.write("config.toml", "[policy]\nsandbox = \"readonly\"\n")
	}
}

// A later run of a session has the approval policy of the first, where the policy's first value is a stricter one. So
// it is with exec.
func TestSessionKeepsApproval(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][][]string{
		"run":  {{"run", "--session", "s", "RUN: echo ran-$((1+1))"}, {"run", "--session", "s", "RUN: echo ran-$((1+2))"}},
		"exec": {{"exec", "--skip-git-repo-check", "RUN: echo ran-$((1+1))"}, {"exec", "--skip-git-repo-check", "resume", "--last", "RUN: echo ran-$((1+2))"}},
	} {
		w := newWorld(t, options{config: "[policy]\napproval = [\"untrusted\", \"on-request\"]\nsandbox = \"workspace-write\"\n"})
		for i, want := range []string{"ran-2", "ran-3"} {
			if _, problems, status := w.runShell("", argv[i]...); status != 0 || !strings.Contains(w.lastToolOutput(), want) {
				t.Errorf("%s %d: status %d, %s; the model reads %q", name, i, status, problems, w.lastToolOutput())
			}
		}
	}
}

// SIGINT interrupts the turn, and the session continues.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	cmd := exec.CommandContext(deadline(t), proxyPath, "run", "--session", "s", "SLOW: 60000")
	cmd.Env, cmd.Dir = w.env, w.workspace
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.model.Await(deadline(t), func(r scripted.Request) bool { return r.Contains("SLOW: 60000") }); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || !strings.Contains(problems.String(), "interrupted") {
		t.Errorf("%v, %q", cmd.ProcessState, problems.String())
	}
	if out, _, status := w.runShell("", "run", "--session", "s", "SAY: on"); out != "on\n" || status != 0 {
		t.Errorf("next turn: %q, %d", out, status)
	}
}

// runAtTerminal runs codex-bridge run with these arguments on a terminal, whose user types the
// answer to the first question. It returns the output.
func (w *world) runAtTerminal(answer string, args ...string) (seen string, err error) {
	w.t.Helper()
	user, program := bridgetest.Terminal(w.t, 120)
	cmd := exec.CommandContext(deadline(w.t), proxyPath, append([]string{"run"}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.env, w.workspace, program, program, program
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	program.Close()
	var text strings.Builder
	var reading sync.WaitGroup
	reading.Go(func() {
		answered := false
		for b := make([]byte, 4096); ; {
			n, err := user.Read(b)
			text.Write(b[:n])
			if !answered && strings.Contains(text.String(), endOfQuestion) {
				answered = true
				_, _ = io.WriteString(user, answer+"\n") // the program may have ended
			}
			if err != nil {
				return
			}
		}
	})
	err = cmd.Wait()
	reading.Wait()
	return text.String(), err
}

// endOfQuestion is the end of a question at a terminal.
const endOfQuestion = "[n] no: "

// At a terminal, the user is asked about a request with policy.methods "ask". The question has the
// number of omitted parts, and takes yes or no.
func TestRunOfAMethodThatAsks(t *testing.T) {
	t.Parallel()
	for answer, ran := range map[string]bool{"y": true, "n": false, "s": false} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n[policy.methods]\n\"turn/start\" = \"ask\"\n"})
			text, err := w.runAtTerminal(answer, "--session", "s", strings.Repeat("word ", 300)+strings.Repeat("\u200bx", 500)+"\nSAY: it ran")
			if (err == nil) != ran || strings.Contains(text, "it ran\r\n") != ran || !strings.Contains(text, "Allow turn/start?") {
				t.Errorf("%v\n%s", err, text)
			}
			question, _, _ := strings.Cut(text, "Allow it? [y] yes, [n] no: ")
			if !strings.Contains(question, strings.Repeat("word ", 300)) || !strings.Contains(question, `\u200bx\u200bx`) ||
				!strings.Contains(question, " more characters)") || strings.Contains(question, "\u200b") || len(question) == len(text) {
				t.Errorf("question:\n%s", text)
			}
		})
	}
}

// A terminal shows the reply while Codex writes it; the user gets questions and answers.
func TestRunOnATerminal(t *testing.T) {
	t.Parallel()
	for answer, made := range map[string]bool{"y": true, "n": false} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n"})
			text, err := w.runAtTerminal(answer, "--session", "s", "--sandbox", "workspace-write", "RUN: touch made")
			_, missing := os.Stat(filepath.Join(w.workspace, "made"))
			if err != nil || !strings.Contains(text, "Command: touch made") || (missing == nil) != made ||
				!strings.Contains(text, "running ") || !strings.Contains(text, "The tool ") {
				t.Errorf("%v, the file is there: %v\n%q", err, missing == nil, text)
			}
		})
	}
}

// The question shows each line of a command, so that none looks like the comment before it.
func TestRunShowsEachLine(t *testing.T) {
	t.Parallel()
	for answer, removed := range map[string]bool{"y": true, "n": false} {
		w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n"})
		w.write("workspace/precious", "")
		text, err := w.runAtTerminal(answer, "--session", "s", "--sandbox", "workspace-write", `CALL: exec_command {"cmd":"touch made # a marker\nrm  precious"}`)
		question, _, _ := strings.Cut(text, endOfQuestion)
		for _, want := range []string{"Command: touch made # a marker⏎rm  precious\r\n", "\r\nWhole command:\r\n  | ", "touch made # a marker\r\n  | rm  precious\r\n", "\r\nFolder: " + w.workspace + "\r\n"} {
			if !strings.Contains(question, want) {
				t.Errorf("the question is without %q:\n%q", want, question)
			}
		}
		if err != nil || exists(filepath.Join(w.workspace, "precious")) == removed {
			t.Errorf("%s: %v, removed: %v", answer, err, !removed)
		}
	}
}

// The question about a patch shows what it does, whether Codex asks or the gate.
func TestRunShowsPatch(t *testing.T) {
	t.Parallel()
	for _, gate := range []string{"true", "false"} {
		w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nsandbox = \"read-only\"\nescalation = \"ask\"\ngate = " + gate + "\n"})
		text, err := w.runAtTerminal("n", "--session", "s", "--sandbox", "read-only", "PATCH: new.sh\nrm -rf ~\u200b")
		question, _, _ := strings.Cut(text, endOfQuestion)
		for _, want := range []string{"\r\nAdd file: " + filepath.Join(w.workspace, "new.sh") + "\r\n", `  | "rm -rf ~\u200b"` + "\r\n"} {
			if !strings.Contains(question, want) {
				t.Errorf("gate = %s: the question is without %q:\n%q", gate, want, question)
			}
		}
		if err != nil || w.hasFile("workspace/new.sh") {
			t.Errorf("gate = %s: %v; the file is there: %v", gate, err, w.hasFile("workspace/new.sh"))
		}
	}
}

// A session keeps the settings of its thread. A user who asks for others gets a warning: on stderr,
// or as an event.
func TestRunWarnsOfIgnoredFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n"})
	for _, c := range []struct{ session, flags, ignored string }{
		{"s", "--sandbox workspace-write --model gpt-5.5 --cwd .", ""},
		{"s", "", ""},
		{"s", "--sandbox workspace-write", "--sandbox"},
		{"s", "--model gpt-5.5", "--model"},
		{"s", "--cwd .", "--cwd"},
		{"s", "--sandbox workspace-write --cwd . --model gpt-5.5", "--cwd, --model, --sandbox"},
		{"other", "--cwd .", ""},
	} {
		args := append([]string{"run", "--session", c.session, "SAY: hello"}, strings.Fields(c.flags)...)
		want := "ignored " + c.ignored + ": the session goes on with its thread "
		if _, said, _ := w.runShell("", args...); said != "" && c.ignored == "" || c.ignored != "" && !strings.HasPrefix(said, "codex-bridge: "+want) {
			t.Errorf("%s %s: %q", c.session, c.flags, said)
		}
		if c.ignored == "" {
			continue
		}
		out, said, _ := w.runShell("", append(args, "--json")...)
		if said != "" || !strings.Contains("\n"+out, "\n"+`{"event":"warning","params":{"message":"`+want) {
			t.Errorf("%s %s --json: %q, %s", c.session, c.flags, said, out)
		}
	}
}
