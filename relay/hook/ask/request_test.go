package ask_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/relay/hook/ask"
)

// Packages that are initialised late on Linux must not be imported, even indirectly: the
// process would wait for hundreds of packages that it does not need.
func TestImportsOnlyEarlyPackages(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "codex-bridge.example/relay/hook/ask")
	list.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	for _, late := range []string{"fmt", "strings", "bytes", "unicode", "bufio", "reflect", "net", "encoding/json", "path/filepath", "crypto/subtle", "log/slog"} {
		if slices.Contains(deps, late) {
			t.Errorf("%s is imported", late)
		}
	}
	if !slices.Contains(deps, "os") {
		t.Errorf("the imports are not known: %q", out)
	}
}

// A request is sent early only for the exact command line that the bridge writes.
func TestParseExactAcceptsOnlyTheBridgesForm(t *testing.T) {
	good := []string{"--socket", "/x/hook.sock", "--event", "pre_tool_use", "--timeout", "10s"}
	want := ask.Flags{Socket: "/x/hook.sock", Event: "pre_tool_use", Timeout: 10 * time.Second}
	f, ok := ask.ParseExact(good)
	if diff := cmp.Diff(want, f); diff != "" || !ok {
		t.Errorf("%v\n%s", ok, diff)
	}
	want.Allow = true
	f, ok = ask.ParseExact(append(slices.Clone(good), "--on-failure", "allow"))
	if diff := cmp.Diff(want, f); diff != "" || !ok {
		t.Errorf("%v\n%s", ok, diff)
	}
	with := func(i int, word string) []string {
		args := slices.Clone(good)
		args[i] = word
		return args
	}
	for _, args := range [][]string{
		nil, good[:4], with(0, "--event"), with(1, ""), with(1, "hook.sock"), with(2, "-event"), with(3, ""), with(3, `stop"`), with(3, "a b"),
		with(3, "stöp"), with(4, "--wait"), with(5, "10"), with(5, "0s"), with(5, "-1s"), with(5, ""), append(slices.Clone(good), "--on-failure"),
		append(slices.Clone(good), "--on-failure", "deny"), append(slices.Clone(good), "--on-failure", "ALLOW"), append(slices.Clone(good), "x"),
	} {
		if _, ok := ask.ParseExact(args); ok {
			t.Errorf("%q was taken", args)
		}
	}
}

// Tokens are written into the request without escaping, so only plain characters are valid.
func TestReadTokensRejectsMalformedFiles(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]ask.Tokens{
		"AB7\nxY_\n": {Request: "AB7", Reply: "xY_"},
		"":           {}, "A": {}, "A\n": {}, "A\nB": {}, "A\nB\nC": {}, "A\nB\n\n": {}, "\nB\n": {}, "A\n\n": {}, "A\"\nB\n": {}, "A\nB\x00\n": {}, "A\r\nB\r\n": {},
		strings.Repeat("A", 300): {}, "A\n" + strings.Repeat("B", 253) + "\n": {Request: "A", Reply: strings.Repeat("B", 253)},
		"A\n" + strings.Repeat("B", 254) + "\n": {},
	} {
		path := filepath.Join(dir, "token")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ask.ReadTokens(path)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != ask.Tokens{}) {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
		if err == nil && got.Encode() != text {
			t.Errorf("%q is written as %q", text, got.Encode())
		}
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// A request that times out reports its stage; one that panics reports the panic.
func TestRequestReportsStageAtTimeout(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	flags := ask.Flags{Socket: filepath.Join(dir, "hook.sock"), Event: "stop", Timeout: 10 * time.Millisecond}
	r, w := io.Pipe()
	defer w.Close()
	a := ask.Start(flags, r)
	if a.Wait() || a.Stage() != ask.Reading || !a.Expired() {
		t.Errorf("stage %d", a.Stage())
	}
	flags.Timeout = time.Hour
	a = ask.Start(flags, strings.NewReader("{}"))
	done := a.Wait()
	if payload, tooLong := a.Payload(); !done || a.Stage() != ask.Connecting || string(payload) != "{}" || tooLong || a.Expired() {
		t.Errorf("stage %d, payload %q", a.Stage(), payload)
	}
	var absent *ask.Failure
	if _, err := a.Reply(); !errors.As(err, &absent) || !absent.NoBridge {
		t.Errorf("%v", err)
	}
	a = ask.Start(flags, reader(func([]byte) (int, error) { panic("lost") }))
	var fault *ask.Panic
	if !a.Wait() {
		t.Error("a fault is waited for")
	} else if _, err := a.Reply(); !errors.As(err, &fault) || fault.Value != "lost" {
		t.Errorf("%v", err)
	}
}
