package hook_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"codex-bridge.example/relay/hook"
)

// Bad flags are a denial if the event is known. Without the event, the process exits with 2
// and a text on stderr, which Codex takes for a denial of any event that decides.
func TestRunDeniesOnBadFlags(t *testing.T) {
	good := func(event string) []string {
		return []string{"--socket", "/x/hook.sock", "--event", event, "--timeout", "10s"}
	}
	for name, c := range map[string]struct {
		args func(event string) []string
		want string
	}{
		"unknown flag":        {func(e string) []string { return append(good(e), "--relay", "x") }, "--relay"},
		"unknown flag first":  {func(e string) []string { return append([]string{"--relay=x"}, good(e)...) }, "--relay"},
		"a word":              {func(e string) []string { return append(good(e), "word") }, "word"},
		"no value":            {func(e string) []string { return append(good(e), "--on-failure") }, "--on-failure has no value"},
		"bad on-failure":      {func(e string) []string { return append(good(e), "--on-failure", "ALLOW") }, "--on-failure"},
		"allow twice":         {func(e string) []string { return append(good(e), "--on-failure", "allow", "--on-failure=allow") }, "twice"},
		"socket twice":        {func(e string) []string { return append(good(e), "--socket", "/y/hook.sock") }, "twice"},
		"no socket":           {func(e string) []string { return good(e)[2:] }, "--socket"},
		"relative socket":     {func(e string) []string { return append(good(e)[2:], "--socket", "hook.sock") }, "--socket"},
		"no timeout":          {func(e string) []string { return good(e)[:4] }, "--timeout"},
		"number for timeout":  {func(e string) []string { return append(good(e)[:4], "--timeout=5000") }, "--timeout"},
		"no time":             {func(e string) []string { return append(good(e)[:4], "--timeout=0s") }, "--timeout"},
		"less than no time":   {func(e string) []string { return append(good(e)[:4], "--timeout=-1s") }, "--timeout"},
		"too long for a time": {func(e string) []string { return append(good(e)[:4], "--timeout=9999999h") }, "--timeout"},
	} {
		for _, e := range hook.Events() {
			checkFailure(t, e, runHere(c.args(string(e)), strings.NewReader(payload(e, "c"))), c.want)
			if t.Failed() {
				t.Fatal(name)
			}
		}
	}
	for name, args := range map[string][]string{
		"nothing": nil, "no event": append(good("")[:2], "--timeout", "10s"), "unknown event": good("session_start"),
		"Codex's name": good("PreToolUse"), "two events": append(good("stop"), "--event", "pre_tool_use"), "help": {"--help"},
	} {
		o := runHere(args, strings.NewReader(payload(hook.PreToolUse, "c")))
		if o.status != 2 || o.stdout != "" || !strings.Contains(o.stderr, "--event") {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestRunTakesJoinedFlags(t *testing.T) {
	s := listen(t, hook.Options{Decide: denyCall})
	o := runHere([]string{"--event=pre_tool_use", "--timeout=1m", "--on-failure=deny", "--socket=" + s.Socket()}, strings.NewReader(payload(hook.PreToolUse, "call-3")))
	if reason := checkDenial(t, hook.PreToolUse, o); reason != "call-3" {
		t.Errorf("%q", reason)
	}
}

// runHere calls Run in this process.
func runHere(args []string, stdin io.Reader) awaitAnswer {
	var stdout, stderr bytes.Buffer
	status := hook.Run(args, stdin, &stdout, &stderr)
	return awaitAnswer{stdout.String(), stderr.String(), status}
}

type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// An error or a panic while reading the input is a denial.
func TestRunDeniesWhenReadingInputFails(t *testing.T) {
	for name, stdin := range map[string]reader{
		"panic": func([]byte) (int, error) { panic("lost") },
		"error": func([]byte) (int, error) { return 0, errors.New("lost") },
	} {
		for _, e := range hook.Events() {
			o := runHere([]string{"--socket", "/x/hook.sock", "--event", string(e), "--timeout", "1m", "--on-failure", "allow"}, stdin)
			checkFailure(t, e, o, "lost")
			if t.Failed() {
				t.Fatal(name)
			}
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// When the answer can't be written, the exit status is the denial.
func TestRunExitsWithBlockWhenWritingFails(t *testing.T) {
	s := listen(t, hook.Options{Decide: denyCall})
	looks := listen(t, hook.Options{Decide: func(context.Context, *hook.Call) hook.Answer {
		return hook.Answer{Decision: hook.Revise, Reason: "go on"}
	}})
	for name, stdout := range map[string]writer{
		"error": func([]byte) (int, error) { return 0, errors.New("lost") },
		"panic": func([]byte) (int, error) { panic("lost") },
	} {
		var stderr bytes.Buffer
		o := hook.Run([]string{"--socket", looks.Socket(), "--event", "stop", "--timeout", "1m"}, strings.NewReader(payload(hook.Stop, "c")), stdout, &stderr)
		if o != 0 || !strings.Contains(stderr.String(), "lost") {
			t.Errorf("%s: stop: status %d, stderr %q", name, o, stderr.String())
		}
		stderr.Reset()
		args := []string{"--socket", s.Socket(), "--event", "pre_tool_use", "--timeout", "1m"}
		status := hook.Run(args, strings.NewReader(payload(hook.PreToolUse, "c")), stdout, &stderr)
		if status != 2 || !strings.Contains(stderr.String(), "lost") {
			t.Errorf("%s: status %d, stderr %q", name, status, stderr.String())
		}
	}
}
