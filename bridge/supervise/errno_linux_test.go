//go:build !portable && (amd64 || arm64)

package supervise

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program that can't start fails as without a supervisor: shells look for programs by these errors.
func TestErrnosAreThoseOfTheKernel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long, loop := strings.Repeat("n", 256), strings.Repeat("./", 2100)
	script := `
		mkdir folder; echo x > plain; cp plain plainx; chmod +x plainx; : > empty; chmod +x empty; mkfifo fifo; chmod +x fifo
		ln -s missing dangling; ln -s circle circle; ln -s "$PWD/round" around; ln -s around round; ln -s folder/ tofolder; ln -s plain toplain
		for n in {1..41}; do ln -s l$((n - 1)) l$n; done; ln -s plain l0
		printf '#!/missing/x\n' > s1; printf '#!folder\n' > s2; printf '#!%s/plain\n' "$PWD" > s3; printf '#!\n' > s4; printf '#!   ' > s5; printf '#!%s/s6\n' "$PWD" > s6
		printf '#!fifo\n' > s7; printf '#!/dev/null\n' > s8; printf '#!/bin/%0300d\n' 1 > s9; printf '#!%s/s1\n' "$PWD" > s10; printf '#!\0' > s11; printf '\177ELF' > elf
		i=/bin/true; for n in 1 2 3 4 5 6; do printf '#!%s\n' "$i" > d$n; i=$PWD/d$n; done
		mkdir -p closed/in; cp plainx closed/in/x; chmod +x s* d? elf; chmod 000 closed; cp /bin/true nox; chmod 600 nox`
	prepare := exec.Command("bash", "-c", script)
	prepare.Dir = dir
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer func() { _ = os.Chmod(filepath.Join(dir, "closed"), 0o700) }() // for the removal
	files := []string{
		"", "missing", "./missing", dir + "/missing", "missing/x", dir + "/missing/x", "folder", "folder/", "folder/..", ".", "..", "/", "plain", "plain/", "plain/x", dir + "/plain/x",
		"plain/.", "plain/..", "plainx", "empty", "fifo", "/dev/null", "nox", "dangling", dir + "/dangling", "circle", dir + "/circle", "around", dir + "/around", "tofolder", "tofolder/missing", "toplain", "toplain/", "toplain/x",
		"l39", "l40", dir + "/l39", dir + "/l40", "l41", dir + "/l41", long, "./" + long, dir + "/" + long, long + "/x", loop[:4094] + "x", loop[:4095] + "x", "/" + loop + "x", strings.Repeat("y", 5000),
		"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "d6", "elf", "closed/in/x", dir + "/closed/in/x", "closed/missing", "/proc/self/fd/77", "/dev/fd/77", "/proc/self/fd/1", "/dev/fd/x", "/proc/self/fd",
		"/dev/fd/-1", "/proc/self/exe/x", "/proc/missing", "/usr/bin/missing", "/usr/bin/../missing", "folder/../missing", "missing/../plain", "/etc/passwd",
	}
	control := exec.Command(testProgram(t), append([]string{helperWord, "errnos"}, files...)...)
	control.Dir = dir
	want, err := control.Output()
	if err != nil {
		t.Fatal(err)
	}
	var line strings.Builder
	line.WriteString(testProgram(t) + " " + helperWord + " errnos")
	for _, file := range files {
		line.WriteString(" '" + file + "'")
	}
	for _, judged := range []bool{true, false} {
		one := trial{script: line.String() + " & wait", dir: dir, allow: true}
		if judged {
			one.script, one.calls = `bash -c "$LINE"; :`, []Call{call(line.String())}
			one.env = []string{"LINE=" + line.String()}
		}
		r := one.run(t)
		got, wanted := strings.Split(r.out, "\n"), strings.Split(string(want), "\n")
		for i := range max(len(got), len(wanted)) {
			if i >= len(got) || i >= len(wanted) || got[i] != wanted[i] {
				t.Errorf("decided: %v: %s, without: %s", judged, at(got, i), at(wanted, i))
			}
		}
		if n := len(r.starts); judged && n == 0 {
			t.Error("nothing was decided")
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}

// Calls with odd lists and memory end as without a supervisor.
func TestOddCalls(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"unmapped /bin/echo", "unmapped-arg /bin/echo", "unmapped-path", "endless /bin/echo", "big /bin/echo 20000000", "big /bin/true 1900000", "empty-argv /bin/true", "null-argv /bin/true",
		"empty-argv ./s", "null-argv ./s",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "s"), []byte("#!/bin/echo x\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		control := exec.Command(testProgram(t), append([]string{helperWord}, strings.Fields(line)...)...)
		control.Dir = dir
		want, _ := control.Output() // it may fail
		whole := testProgram(t) + " " + helperWord + " " + line + "; :"
		r := trial{script: `bash -c "$LINE"; :`, calls: []Call{call(whole)}, env: []string{"LINE=" + whole}, dir: dir}.run(t)
		if r.out != string(want) {
			t.Errorf("%s: it wrote %q, without a supervisor %q", line, r.out, want)
		}
	}
}

// The words of a program are exactly those that the kernel gives it.
func TestWords(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0", 131071) // with the NUL, the kernel's limit
	const line = `printf -v BIG %0131071d 0; exec /bin/echo a "" "b c" "$BIG"`
	r := trial{script: `bash -c "$LINE"; :`, calls: []Call{call(line)}, env: []string{"LINE=" + line}}.run(t)
	if len(r.starts) != 1 || strings.Join(r.starts[0].Programs[0].Args, "|") != "/bin/echo|a||b c|"+big {
		t.Errorf("%.200v", r.starts)
	}
}
