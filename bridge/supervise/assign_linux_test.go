//go:build !portable && (amd64 || arm64)

package supervise

import "testing"

// The shell of a call may become itself once more with the line of the call, and no other program.
func TestOpensAgain(t *testing.T) {
	const line = "echo a"
	opened := tree{kind: command, calls: []Call{call("other"), call(line)}, shell: 7, opening: opening{"/bin/sh", "/bin/busybox"}}
	program := func(path, file string, args ...string) candidate {
		return candidate{programs: []Program{{Path: path, File: file, Args: args}}}
	}
	for _, test := range []struct {
		pid  int
		c    candidate
		want bool
	}{
		{7, program("/bin/sh", "/bin/busybox", "/bin/sh", "-c", line), true},
		{7, program("/usr/bin/sh", "/bin/busybox", "sh", "-lc", line), true},
		{8, program("/bin/sh", "/bin/busybox", "/bin/sh", "-c", line), false},
		{7, program("/bin/sh", "/bin/busybox", "/bin/sh", "-c", "echo b"), false},
		{7, program("/bin/sh", "/bin/busybox", "/bin/sh", "-c", "touch x", line), false},
		{7, program("/bin/sh", "/bin/busybox", "touch", "-c", line), false},
		{7, program("/bin/touch", "/bin/busybox", "sh", "-c", line), false},
		{7, program("/tmp/sh", "/bin/perl", "sh", "-c", line), false},
		{7, program("/bin/sh", "/bin/busybox", "sh", "-s", line), false},
		{7, program("/bin/sh", "", "sh", "-c", line), false},
		{7, candidate{unreadable: "its memory"}, false},
	} {
		if opened.opensAgain(test.pid, test.c) != test.want {
			t.Errorf("%d, %+v: not %v", test.pid, test.c, test.want)
		}
	}
	if unknown := (&tree{shell: 7, calls: opened.calls}); unknown.opensAgain(7, program("/bin/sh", "", "sh", "-c", line)) {
		t.Error("a shell whose file is not known opens again")
	}
}
