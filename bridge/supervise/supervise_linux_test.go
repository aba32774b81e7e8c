//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// trial runs a script of bash as Codex.
type trial struct {
	script string
	calls  []Call
	env    []string
	dir    string // empty: a new one
	allow  bool   // every program
	decide func(context.Context, Start) bool
	full   func(start Start, first bool) bool
	empty  func(n int) // Options.Drained
}

// result is what happened.
type result struct {
	out    string
	starts []Start // that were decided
}

// run runs a trial until the last process has closed the output. Programs by the name of touch, and those that are not
// known, do not start.
func (one trial) run(t *testing.T) (r result) {
	t.Helper()
	var mu sync.Mutex
	s := New(Options{
		Required: true,
		Decide: func(ctx context.Context, start Start) bool {
			mu.Lock()
			r.starts = append(r.starts, start)
			mu.Unlock()
			return (one.allow || !isForbidden(start)) && (one.decide == nil || one.decide(ctx, start))
		},
		Full: one.full, Drained: one.empty,
		IsHook: func(line string) bool { return strings.Contains(line, "hook --socket") },
	})
	for _, c := range one.calls {
		s.Announce(c)
	}
	cmd := exec.Command("/bin/bash", "-c", one.script)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Env = append(os.Environ(), one.env...)
	if cmd.Dir = one.dir; cmd.Dir == "" {
		cmd.Dir = t.TempDir()
	}
	if err := s.Start(cmd, (*exec.Cmd).Start); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		fmt.Fprintln(&output, err)
	}
	mu.Lock()
	defer mu.Unlock()
	return result{output.String(), slices.Clone(r.starts)}
}

// isForbidden reports whether a program is touch, or not known.
func isForbidden(start Start) bool {
	return start.Unreadable != "" || slices.ContainsFunc(start.Programs, func(p Program) bool {
		names := []string{p.Path, p.File}
		return slices.ContainsFunc(append(names, p.Args[:min(1, len(p.Args))]...), func(name string) bool { return filepath.Base(name) == "touch" })
	})
}

// call is a call of the tests.
func call(line string) Call { return Call{Thread: "t", Turn: "u", ID: "c", Line: line} }

// runLine runs a line as a call of Codex, in bash, in a folder of its own. $P is a file that it may make, and $H the
// helpers. It reports whether there is such a file.
func runLine(t *testing.T, line string, allow bool) (made bool, r result) {
	t.Helper()
	dir := t.TempDir()
	marker := filepath.Join(dir, "marker")
	r = trial{script: `bash -c "$LINE"; exit $?`, calls: []Call{call(line)}, dir: dir, allow: allow, env: []string{"LINE=" + line, "P=" + marker, "H=" + testProgram(t) + " " + helperWord}}.run(t)
	_, err := os.Stat(marker)
	return err == nil, r
}

func testProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

func TestStart(t *testing.T) {
	t.Parallel()
	const line = "/bin/echo a; touch x && echo started; /bin/echo b"
	r := trial{script: "/bin/echo own; bash -c '" + line + "'; touch y && echo own started", calls: []Call{call(line)}}.run(t)
	if want := "own\na\nbash: line 1: /usr/bin/touch: Operation not permitted\nb\nown started\n"; r.out != want {
		t.Errorf("it wrote %q, want %q", r.out, want)
	}
	if len(r.starts) != 3 {
		t.Errorf("it decided %+v", r.starts)
	}
	for _, s := range r.starts {
		if len(s.Calls) != 1 || s.Calls[0] != call(line) {
			t.Errorf("%v belongs to %v", s, s.Calls)
		}
	}
}

// No process gets a descriptor of another one, such as the listener of the bridge, with which it could let programs start.
func TestListenerCanNotBeTaken(t *testing.T) {
	t.Parallel()
	if r := (trial{script: testProgram(t) + " " + helperWord + " descriptor; exit 0", allow: true}).run(t); r.out != "EPERM\n" {
		t.Errorf("it wrote %q", r.out)
	}
}
