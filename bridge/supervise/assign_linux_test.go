//go:build !portable && (amd64 || arm64)

package supervise

import (
	"fmt"
	"slices"
	"testing"
)

// The first process of a call becomes the shell with the line of the call once, and no other program.
func TestBecomesShell(t *testing.T) {
	const line, snapshot = "echo a", "read the settings; exec sh -c 'echo a'"
	program := func(path, file string, args ...string) candidate {
		return candidate{programs: []Program{{Path: path, File: file, Args: args}}}
	}
	for _, test := range []struct {
		with string // with which Codex begins the call
		pid  int
		c    candidate
		want bool
	}{
		{snapshot, 7, program("/bin/bash", "/bin/bash", "/bin/bash", "-c", line), true},
		{snapshot, 7, program("/bin/sh", "/bin/busybox", "/bin/sh", "-c", line), true},
		{line, 7, program("/bin/bash", "/bin/bash", "/bin/bash", "-c", line), false},
		{snapshot, 8, program("/bin/sh", "/bin/busybox", "/bin/sh", "-c", line), false},
		{snapshot, 7, program("/bin/sh", "/bin/busybox", "/bin/sh", "-c", "echo b"), false},
		{snapshot, 7, program("/bin/sh", "/bin/busybox", "/bin/sh", "-c", "touch x", line), false},
		{snapshot, 7, program("/bin/sh", "/bin/busybox", "touch", "-c", line), false},
		{snapshot, 7, program("/bin/touch", "/bin/busybox", "sh", "-c", line), false},
		{snapshot, 7, program("/bin/sh", "/bin/busybox", "sh", "-s", line), false},
		{snapshot, 7, program("/bin/sh", "", "sh", "-c", line), false},
		{snapshot, 7, candidate{unreadable: "its memory"}, false},
	} {
		var opened tree
		opened.open([]Call{call("other"), call(line)}, 7, program("/bin/bash", "/bin/bash", "/bin/bash", "-c", test.with))
		if opened.becomesShell(test.pid, test.c) != test.want {
			t.Errorf("%s: %d, %+v: not %v", test.with, test.pid, test.c, test.want)
		}
		if opened.becomesShell(test.pid, test.c) {
			t.Errorf("%s: %d, %+v: twice", test.with, test.pid, test.c)
		}
	}
}

// Codex tries its sandbox before it starts the shell of a call in it. It starts its bwrap by a descriptor.
func TestSandboxByDescriptor(t *testing.T) {
	t.Parallel()
	const line = "/bin/echo a"
	const sandbox = `exec 3< bwrap; (exec -a bwrap /proc/self/fd/3 -c :); exec -a bwrap /proc/self/fd/3 -c 'exec bash -c "$LINE"'`
	r := trial{
		script: `cp "$BASH" bwrap; export CODEX_TOOL_CALL_ID=c; (exec -a codex-linux-sandbox bash -c "$SANDBOX"); :`,
		calls:  []Call{call(line)}, env: []string{"LINE=" + line, "SANDBOX=" + sandbox},
	}.run(t)
	var decided []string
	for _, start := range r.starts {
		decided = append(decided, fmt.Sprint(start, " ", len(start.Calls)))
	}
	if !slices.Equal(decided, []string{"/bin/echo a 1"}) || r.out != "a\n" {
		t.Errorf("%q, decided %q", r.out, decided)
	}
}
