//go:build !portable

package rpc_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"codex-bridge.example/rpc"
)

// Behind a read of many short lines, the next read gathers the bytes that arrive during a pause.
func TestJoinPausesBehindABurst(t *testing.T) {
	l := newJoinedPair(t)
	late := ""
	l.calls.Pause = func() {
		late = "late\n"
		l.send(late)
	}
	lines := func(n int) string { return strings.Repeat("a short line\n", n) }
	for _, step := range []struct {
		text  string
		pause bool // before the read of text
	}{
		{text: lines(rpc.JoinBurstLines)},
		{text: lines(rpc.JoinBurstLines - 2), pause: true},
		{text: strings.Repeat("a long line ", 1000) + "\n" + lines(rpc.JoinBurstLines)},
		{text: l.text(rpc.JoinBurstSize)},
		{text: lines(1)},
	} {
		late = ""
		l.send(step.text)
		n, err := l.in.Read(l.buf)
		if got := string(l.buf[:n]); err != nil || got != step.text+late || (late != "") != step.pause {
			t.Errorf("read %.100q, %v; want %.100q, with a pause before: %v", got, err, step.text, step.pause)
		}
	}
}

// After the first large run, Join forwards runs of at least rpc.JoinBulk bytes without a copy.
func TestJoinCopiesNoLargeRuns(t *testing.T) {
	l := newJoinedPair(t)
	l.warm()
	for _, n := range []int{rpc.JoinBulk, rpc.JoinBulk + 1000} {
		text := l.text(n)
		l.send(text)
		l.read(0, text)
		l.forward(n)
		l.wantCalls(fmt.Sprint("a run of ", n), "tee", "splice")
	}
}

// Short runs are copied, and the next Read does not keep bytes.
func TestJoinCopiesShortRuns(t *testing.T) {
	l := newJoinedPair(t)
	l.warm()
	for i, calls := range [][]string{{"tee"}, nil, nil} {
		text := l.text(rpc.JoinBulk - 1)
		l.send(text)
		l.read(0, text)
		l.forward(len(text))
		l.wantCalls(fmt.Sprint("short run ", i), append(slices.Clone(calls), fmt.Sprint("write ", rpc.JoinBulk-1))...)
	}
}

// A Pump may handle lines from the middle of a Read. The runs around them need no copy.
func TestJoinForwardsRunsAroundAHandledLine(t *testing.T) {
	l := newJoinedPair(t)
	l.warm()
	taken := 5000
	text := l.text(rpc.JoinBulk) + l.text(taken) + l.text(20000)
	l.send(text)
	l.read(0, text)
	l.forward(rpc.JoinBulk)
	l.forwardRun(l.buf[rpc.JoinBulk+taken : len(text)])
	l.wantCalls("before and behind", "tee", "splice", "write 20000")
	text = l.text(1000) + l.text(rpc.JoinBulk)
	l.send(text)
	l.read(0, text)
	l.forwardRun(l.buf[1000:len(text)])
	l.wantCalls("behind a line that was taken", "tee", "splice")
}

// Bytes outside the last Read are written with a copy.
func TestJoinWritesOtherBytes(t *testing.T) {
	l := newJoinedPair(t)
	l.warm()
	text := l.text(rpc.JoinBulk + 1000)
	l.send(text)
	l.read(0, text)
	other := bytes.Repeat([]byte("other\n"), rpc.JoinBulk/6+1)
	l.forwardRun(other)
	l.wantCalls("another buffer", "tee", fmt.Sprint("write ", len(other)))
	if n, err := l.out.WriteRun(nil); n != 0 || err != nil {
		t.Errorf("WriteRun of nothing = %d, %v", n, err)
	}
	l.wantCalls("nothing", "write 0")
	l.forwardRun(l.buf[1000 : 1000+rpc.JoinBulk+1000])
	l.wantCalls("more than was read", fmt.Sprint("write ", rpc.JoinBulk+1000))
	l.forward(len(text))
	l.wantCalls("what was read", "splice")
	l.forwardRun(l.buf[:500])
	l.wantCalls("what has been passed on", "write 500")
	l.forwardRun(l.buf[:len(text)])
	l.wantCalls("all of it again", fmt.Sprint("write ", len(text)))
}

// After a splice that fails, or moves only a part, another splice or Write moves the rest.
func TestJoinGoesOnBehindAPartialSplice(t *testing.T) {
	for _, fails := range []bool{false, true} {
		l := newJoinedPair(t)
		const room = 16 << 10
		if _, err := unix.FcntlInt(l.client.Fd(), unix.F_SETPIPE_SZ, room); err != nil {
			t.Fatal(err)
		}
		heard := make(chan string)
		go func() {
			all, _ := io.ReadAll(l.hear)
			heard <- string(all)
		}()
		splices := 0
		l.calls.NoSplice = func() bool { splices++; return fails && splices == 2 }
		var want strings.Builder
		for range 4 {
			text := l.text(rpc.JoinBulk + 10000)
			l.send(text)
			l.read(0, text)
			want.WriteString(text)
			if n, err := l.out.WriteRun(l.buf[:len(text)]); n != len(text) || err != nil {
				t.Errorf("WriteRun = %d, %v; want %d", n, err, len(text))
			}
		}
		l.client.Close()
		if got := <-heard; got != want.String() {
			t.Errorf("%d bytes arrived, want %d", len(got), want.Len())
		}
		var writes []string
		for _, call := range l.calls.Log {
			if strings.HasPrefix(call, "write") {
				writes = append(writes, call)
			}
		}
		whole := fmt.Sprint("write ", rpc.JoinBulk+10000)
		switch {
		case !fails && !slices.Equal(writes, []string{whole}):
			t.Errorf("%q: more than the first run was copied", l.calls.Log)
		case fails && (len(writes) != 2 || writes[0] != whole || writes[1] == whole):
			t.Errorf("%q: want one write of the rest behind the splice that failed", l.calls.Log)
		}
	}
}

// If splice never works, Write writes everything.
func TestJoinWithoutSplice(t *testing.T) {
	l := newJoinedPair(t)
	l.warm()
	l.calls.NoSplice = func() bool { return true }
	for range 3 {
		text := l.text(rpc.JoinBulk)
		l.send(text)
		l.read(0, text)
		l.forward(len(text))
		l.wantCalls("a run", "tee", "splice", fmt.Sprint("write ", rpc.JoinBulk))
	}
}

// Join joins only pipes and sockets, and only if both ends are.
func TestJoinReturnsOtherFilesUnchanged(t *testing.T) {
	name := filepath.Join(t.TempDir(), "regular")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ends := map[string]func() (in io.Reader, out io.Writer, say *os.File){
		"pipe": func() (io.Reader, io.Writer, *os.File) {
			r, w := connect(t, false)
			return r, w, w
		},
		"socket": func() (io.Reader, io.Writer, *os.File) {
			r, w := connect(t, true)
			return r, w, w
		},
		"closed pipe": func() (io.Reader, io.Writer, *os.File) {
			r, w := connect(t, false)
			r.Close()
			w.Close()
			return r, w, w
		},
		"file": func() (io.Reader, io.Writer, *os.File) {
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f, f, f
		},
		"buffer": func() (io.Reader, io.Writer, *os.File) {
			var b bytes.Buffer
			return &b, &b, nil
		},
	}
	joined := []string{"pipe", "socket"}
	for from, input := range ends {
		for to, output := range ends {
			codex, _, say := input()
			_, client, _ := output()
			in, out := rpc.Join(codex, client)
			_, ok := rpc.RecordCalls(in)
			if want := slices.Contains(joined, from) && slices.Contains(joined, to); ok != want {
				t.Errorf("from a %s to a %s: joined %v, want %v", from, to, ok, want)
			}
			if ok { // closes the side pipe at the end
				say.Close()
				_, _ = io.Copy(io.Discard, in)
			} else if in != codex || out != client {
				t.Errorf("from a %s to a %s: Join must return other files unchanged", from, to)
			}
		}
	}
}
