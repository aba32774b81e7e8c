//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inCall is a trial of a line in a call.
func inCall(line string) trial {
	return trial{script: `bash -c "$LINE"; :`, calls: []Call{call(line)}, env: []string{"LINE=" + line}}
}

// A signal during a decision neither ends the call nor reports it again.
func TestSignalsWhileWaiting(t *testing.T) {
	t.Parallel()
	for _, allow := range []bool{true, false} {
		one := inCall(`trap "echo got" WINCH CHLD; exec /bin/echo started`)
		one.decide = func(_ context.Context, start Start) bool {
			for range 20 {
				for _, signal := range []syscall.Signal{unix.SIGWINCH, unix.SIGCHLD} { // ignored after the start of a program
					if err := syscall.Kill(start.PID, signal); err != nil {
						t.Error(err)
					}
				}
			}
			return allow
		}
		r := one.run(t)
		if len(r.starts) != 1 || strings.Contains(r.out, "started") != allow || strings.Contains(r.out, "Interrupted") {
			t.Errorf("%v: %q, decided %v", allow, r.out, r.starts)
		}
	}
}

// If a process ends while it waits, its decision ends too.
func TestProcessEndsWhileWaiting(t *testing.T) {
	t.Parallel()
	one := inCall(`/bin/echo a; /bin/echo b`)
	one.decide = func(ctx context.Context, start Start) bool {
		if start.Programs[0].Args[1] == "a" {
			if err := syscall.Kill(start.PID, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
		}
		return true
	}
	if r := one.run(t); !strings.Contains(r.out, "Killed") || !strings.HasSuffix(r.out, "b\n") || len(r.starts) != 2 {
		t.Errorf("%q, decided %v", r.out, r.starts)
	}
}

// While a decision waits, other programs are decided.
func TestOthersStartWhileWaiting(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	one := inCall(`/bin/echo a & /bin/echo b; wait`)
	one.decide = func(_ context.Context, start Start) bool {
		if start.Programs[0].Args[1] == "a" {
			<-began
		} else {
			close(began)
		}
		return true
	}
	if r := one.run(t); len(strings.Fields(r.out)) != 2 {
		t.Errorf("%q, decided %v", r.out, r.starts)
	}
}

// If a process becomes another program while it waits in another thread, the first program does not start, whatever is
// decided about it later. The other one is decided, too.
func TestOtherThreadStartsWhileWaiting(t *testing.T) {
	t.Parallel()
	const line = `mkfifo go; $H beside /usr/bin/touch marker 'touch other; echo the shell ran' <> go; :`
	dir := t.TempDir()
	one := trial{script: `bash -c "$LINE"; :`, calls: []Call{call(line)}, dir: dir, env: []string{"LINE=" + line, "H=" + testProgram(t) + " " + helperWord}, allow: true}
	one.decide = func(ctx context.Context, start Start) bool {
		if !isForbidden(start) {
			return true
		}
		if start.Programs[0].Args[1] == "other" {
			return false
		}
		if err := os.WriteFile(filepath.Join(dir, "go"), []byte("x\n"), 0); err != nil { // the other thread goes on
			t.Error(err)
		}
		<-ctx.Done()
		return true
	}
	r := one.run(t)
	for _, name := range []string{"marker", "other"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	if !strings.Contains(r.out, "the shell ran") || !strings.Contains(r.out, "not permitted") {
		t.Errorf("%q, decided %v", r.out, r.starts)
	}
}

// If too many decisions wait, further programs do not start, unless the owner says so. The owner knows the first of them,
// and later their number. The programs that wait start.
func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	one := inCall(fmt.Sprintf("for i in {1..%d}; do /bin/echo $i & done; while /bin/echo more; do :; done; /bin/echo again; /bin/echo audit; echo > full; wait", maxWaiting))
	one.dir = t.TempDir()
	pipe := filepath.Join(one.dir, "full")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	full := make(chan struct{})
	go func() {
		defer close(full)
		if _, err := os.ReadFile(pipe); err != nil {
			t.Error(err)
		}
	}()
	one.decide = func(_ context.Context, start Start) bool {
		if start.Programs[0].Args[1] != "more" {
			<-full
		}
		return true
	}
	var mu sync.Mutex
	var refused, drained []string
	one.full = func(start Start, first bool) bool {
		mu.Lock()
		defer mu.Unlock()
		refused = append(refused, fmt.Sprint(start, " ", first))
		return start.Programs[0].Args[1] == "audit"
	}
	one.empty = func(n int) {
		mu.Lock()
		defer mu.Unlock()
		drained = append(drained, fmt.Sprint(n))
	}
	r := one.run(t)
	for i := range maxWaiting {
		if !strings.Contains("\n"+r.out, fmt.Sprintf("\n%d\n", i+1)) {
			t.Errorf("program %d did not start", i+1)
		}
	}
	if strings.Count(r.out, "not permitted") != 2 || !strings.Contains(r.out, "audit\n") {
		t.Error(r.out)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(refused, []string{"/bin/echo more true", "/bin/echo again false", "/bin/echo audit false"}) || !slices.Equal(drained, []string{"3"}) {
		t.Errorf("refused %q, then %q", refused, drained)
	}
}

// Without its supervisor, a program that waits does not start, and no other one does.
func TestSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(testProgram(t), helperWord, "supervise", `bash -c "$LINE"; /bin/echo later; echo $?`)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "waits" {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
	}
	_ = cmd.Wait() // it was killed
	if _, err := os.Stat(filepath.Join(dir, "marker")); err == nil || len(rest) != 4 || !strings.Contains(rest[0], "Function not implemented") || rest[1] != "126" || !strings.Contains(rest[2], "/bin/echo: Function not implemented") || rest[3] != "126" {
		t.Errorf("it wrote %q", rest)
	}
}

// The kernel has one supervisor for a process. A second one says so, and goes on without if it may.
func TestSupervisorInASupervisor(t *testing.T) {
	t.Parallel()
	for _, required := range []string{"", " required"} {
		one := trial{script: testProgram(t) + " " + helperWord + ` supervise "/bin/echo started"` + required + "; :"}
		r := one.run(t)
		if strings.Contains(r.out, "started") != (required == "") || !strings.Contains(r.out, "supervises this one already") {
			t.Errorf("required: %q: %q", required, r.out)
		}
	}
}

// A Codex that can't be started is an error.
func TestStartFails(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]error{"/missing": unix.ENOENT, "/etc/passwd": unix.EACCES, "/tmp": unix.EACCES} {
		cmd := exec.Command(file)
		if err := New(Options{Required: true}).Start(cmd, (*exec.Cmd).Start); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", file, err, want)
		}
		_ = cmd.Wait()
	}
}

// Codex may be started by scripts that change its arguments. Its own programs are not decided, the
// programs of calls are, and orphans count as of no known call.
func TestCodexBehindScripts(t *testing.T) {
	t.Parallel()
	const line = "/bin/echo call"
	codex := `bash -c '/bin/echo hook' x 'hook --socket'; touch own; (exec -a codex-linux-sandbox bash -c "bash -c \"$LINE\"; :"); :`
	for _, script := range []string{codex, `bash -c "$CODEX"; :`, `exec bash -c "$CODEX" --other`, `env A=b bash -c "exec bash -c \"\$CODEX\""; :`} {
		one := trial{script: script, calls: []Call{call(line + "; :")}, env: []string{"LINE=" + line + "; :", "CODEX=" + codex}}
		r := one.run(t)
		var decided []string
		for _, start := range r.starts {
			decided = append(decided, fmt.Sprint(start, " ", len(start.Calls)))
		}
		if !slices.Equal(decided, []string{"/bin/echo call 1"}) || r.out != "hook\ncall\n" {
			t.Errorf("%s: %q, decided %q", script, r.out, decided)
		}
	}
}

// In a sandbox of no known call, only the programs of the sandbox are not decided.
func TestSandboxOfNoCall(t *testing.T) {
	t.Parallel()
	r := trial{script: `(exec -a codex-linux-sandbox bash -c 'ln -s /usr/bin/touch bwrap; exec -a bwrap bash -c "./bwrap a; bash -c \"exec ./bwrap b\"; ./bwrap --codex-run-as-x d"; :'); ls`}.run(t)
	if !strings.HasSuffix(r.out, "\nbwrap\n") {
		t.Errorf("%q, decided %v", r.out, r.starts)
	}
}

// Processes end, and nothing is left of a supervisor.
func TestNothingIsLeft(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	var before int
	for i := range 20 {
		if r := inCall("/bin/echo a; (sleep 0.01 &)").run(t); r.out != "a\n" {
			t.Fatal(r.out)
		}
		if i == 0 {
			before = count()
		}
	}
	// A supervisor ends after the last process, which here ends after the line.
	for end := time.Now().Add(time.Minute); count() > before+2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors, before %d", count(), before)
		}
	}
}

// A line of no known call is decided if Codex has started it as a command. Hooks of the user are not.
func TestLinesOfNoCall(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]bool{"CODEX_TOOL_CALL_ID=x": true, "CODEX_THREAD_ID=x": true, "CODEX_CI=1": true, "OTHER=1": false} {
		dir := t.TempDir()
		r := trial{script: "export " + variable + `; (bash -c "touch marker; :"); :`, dir: dir}.run(t)
		if _, err := os.Stat(filepath.Join(dir, "marker")); err == nil == want || len(r.starts) > 0 != want {
			t.Errorf("%s: %v, %q, decided %v", variable, err, r.out, r.starts)
		}
	}
}
