//go:build !portable

package rpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"codex-bridge.example/rpc"
)

// joinedPair is a Join between two pipes, which the test uses in place of a Pump. The bytes in
// flight fit into the pipes, so one goroutine can use both ends.
type joinedPair struct {
	t         *testing.T
	say, hear *os.File
	client    *os.File
	in        io.Reader
	out       interface{ WriteRun([]byte) (int, error) }
	calls     *rpc.JoinCalls
	buf       []byte
	lines     int
}

func newJoinedPair(t *testing.T) *joinedPair {
	t.Helper()
	codex, say := connect(t, false)
	hear, client := connect(t, false)
	for _, pipe := range []*os.File{say, client} {
		if _, err := unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, 2*rpc.PumpBufferSize); err != nil {
			t.Fatal(err)
		}
	}
	in, out := rpc.Join(codex, client)
	calls, ok := rpc.RecordCalls(in)
	if !ok {
		t.Fatal("two pipes were not joined")
	}
	l := &joinedPair{t: t, say: say, hear: hear, client: client, in: in, out: out.(interface{ WriteRun([]byte) (int, error) }),
		calls: calls, buf: make([]byte, rpc.PumpBufferSize)}
	t.Cleanup(func() { // the end of the input closes the side pipe
		say.Close()
		_, _ = io.Copy(io.Discard, in)
	})
	return l
}

// text returns n bytes of different lines.
func (l *joinedPair) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		l.lines++
		fmt.Fprintf(&b, "line %d %s\n", l.lines, strings.Repeat("x", 80))
	}
	return b.String()[:n-1] + "\n"
}

func (l *joinedPair) send(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l.say, text); err != nil {
		l.t.Fatal(err)
	}
}

// read reads text into the buffer after the kept bytes.
func (l *joinedPair) read(kept int, text string) {
	l.t.Helper()
	n, err := l.in.Read(l.buf[kept:])
	if err != nil || string(l.buf[kept:kept+n]) != text {
		l.t.Fatalf("read %d bytes, %v; want %d", n, err, len(text))
	}
}

// forward writes the first n bytes of the buffer, and checks that they arrive.
func (l *joinedPair) forward(n int) { l.t.Helper(); l.forwardRun(l.buf[:n]) }

func (l *joinedPair) forwardRun(run []byte) {
	l.t.Helper()
	want := string(run)
	if n, err := l.out.WriteRun(run); n != len(run) || err != nil {
		l.t.Fatalf("WriteRun = %d, %v; want %d", n, err, len(run))
	}
	l.wantArrival(want)
}

func (l *joinedPair) wantArrival(want string) {
	l.t.Helper()
	if got := readN(l.t, l.hear, len(want)); got != want {
		at := 0
		for got[at] == want[at] {
			at++
		}
		l.t.Fatalf("%d bytes arrived, and are others from byte %d on", len(got), at)
	}
}

// readN reads up to n bytes from a pipe.
func readN(t *testing.T, f *os.File, n int) string {
	t.Helper()
	var got []byte
	for len(got) < n {
		ready := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
		if k, err := unix.Poll(ready, 0); k <= 0 {
			t.Fatalf("%d bytes are missing, %v", n-len(got), err)
		}
		b := make([]byte, n-len(got))
		k, err := f.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b[:k]...)
	}
	return string(got)
}

// wantCalls compares the calls since the last time.
func (l *joinedPair) wantCalls(what string, want ...string) {
	l.t.Helper()
	if !slices.Equal(l.calls.Log, want) {
		l.t.Fatalf("%s: %q, want %q", what, l.calls.Log, want)
	}
	l.calls.Log = nil
}

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

// warm forwards one large run, with a copy: the next Read expects another.
func (l *joinedPair) warm() {
	l.t.Helper()
	text := l.text(rpc.JoinBulk)
	l.send(text)
	l.read(0, text)
	l.forward(len(text))
	l.wantCalls("the first run", fmt.Sprint("write ", rpc.JoinBulk))
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

// The start of an incomplete line is moved to the start of the buffer before the next Read. It is
// still in the side pipe, and is forwarded with the rest of its line without a copy.
func TestJoinKeepsTheStartOfALine(t *testing.T) {
	l := newJoinedPair(t)
	l.warm()
	first, line, rest := l.text(rpc.JoinBulk), l.text(1000), l.text(rpc.JoinBulk)
	for range 3 {
		l.send(first + line[:600])
		l.read(0, first+line[:600])
		l.forward(len(first))
		l.wantCalls("the first run", "tee", "splice")
		copy(l.buf, line[:600])
		l.send(line[600:] + rest)
		l.read(600, line[600:]+rest)
		l.forward(len(line) + len(rest))
		l.wantCalls("the run behind it", "tee", "splice")
	}
}

// If no more input is available, the start of a line is discarded from the side pipe, which may
// be full. It is then copied with the rest of its line; the following lines are not.
func TestJoinCopiesTheStartOfALineThatWaits(t *testing.T) {
	l := newJoinedPair(t)
	l.warm()
	first, line, rest := l.text(rpc.JoinBulk), strings.Repeat("y", 999)+"\n", l.text(rpc.JoinBulk)
	l.send(first + line[:600])
	l.read(0, first+line[:600])
	l.forward(len(first))
	l.wantCalls("the first run", "tee", "splice")
	l.calls.BehindTee = func(nth int) {
		if nth == 1 {
			l.send(line[600:] + rest)
		}
	}
	copy(l.buf, line[:600])
	l.read(600, line[600:]+rest)
	l.forward(len(line) + len(rest))
	l.wantCalls("the run behind it", "tee", "tee", "write 1000", "splice")
}

// The parts of a line longer than the buffer have no line end to copy up to.
func TestJoinCopiesAStartWithoutALineEnd(t *testing.T) {
	l := newJoinedPair(t)
	l.warm()
	first, line := l.text(rpc.JoinBulk), strings.Repeat("y", rpc.JoinBulk+600)
	l.send(first + line[:600])
	l.read(0, first+line[:600])
	l.forward(len(first))
	l.wantCalls("the first run", "tee", "splice")
	l.calls.BehindTee = func(nth int) {
		if nth == 1 {
			l.send(line[600:])
		}
	}
	copy(l.buf, line[:600])
	l.read(600, line[600:])
	l.forward(len(line))
	l.wantCalls("the long line", "tee", "tee", fmt.Sprint("write ", len(line)))
}

// A start of a line as long as rpc.JoinBulk is not kept in the side pipe, which has little room.
func TestJoinDropsALargeStartOfALine(t *testing.T) {
	line := strings.Repeat("y", 2*rpc.JoinBulk) + "\n"
	for kept, want := range map[int][]string{
		rpc.JoinBulk - 1: {"tee", "splice"},
		rpc.JoinBulk:     {"tee", fmt.Sprint("write ", len(line)), "splice"},
	} {
		l := newJoinedPair(t)
		l.warm()
		first, rest := l.text(rpc.JoinBulk), l.text(rpc.JoinBulk)
		l.send(first + line[:kept])
		l.read(0, first+line[:kept])
		l.forward(len(first))
		l.wantCalls("the first run", "tee", "splice")
		copy(l.buf, line[:kept])
		l.send(line[kept:] + rest)
		l.read(kept, line[kept:]+rest)
		l.forward(len(line) + len(rest))
		l.wantCalls(fmt.Sprintf("behind a start of %d bytes", kept), want...)
	}
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

// At the end of the input the side pipe is closed, once, and the remaining bytes are written.
func TestJoinEnd(t *testing.T) {
	l := newJoinedPair(t)
	l.warm()
	first := l.text(rpc.JoinBulk)
	l.send(first + "half a li")
	l.read(0, first+"half a li")
	l.forward(len(first))
	l.wantCalls("the last run", "tee", "splice")
	copy(l.buf, "half a li")
	l.say.Close()
	for range 2 {
		if n, err := l.in.Read(l.buf[9:]); n != 0 || !errors.Is(err, io.EOF) {
			t.Fatalf("Read = %d, %v; want the end", n, err)
		}
	}
	l.wantCalls("the end", "tee", "tee")
	l.forward(9)
	l.wantCalls("what is left", "write 9")
	l.forwardRun(bytes.Repeat([]byte{'\n'}, rpc.JoinBulk))
	l.wantCalls("a large run behind the end", fmt.Sprint("write ", rpc.JoinBulk))
	if n, err := l.in.Read(l.buf); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("Read = %d, %v; want the end", n, err)
	}
	l.wantCalls("the end again")
}

// At the end of the input, with nothing kept, there is only one tee.
func TestJoinEndBehindALine(t *testing.T) {
	l := newJoinedPair(t)
	l.warm()
	l.say.Close()
	if n, err := l.in.Read(l.buf); n != 0 || !errors.Is(err, io.EOF) {
		t.Fatalf("Read = %d, %v; want the end", n, err)
	}
	l.wantCalls("the end", "tee")
}

// A write error is returned with the number of bytes that have arrived before it.
func TestJoinWriteErrors(t *testing.T) {
	t.Run("a run", func(t *testing.T) {
		l := newJoinedPair(t)
		l.warm()
		text := l.text(rpc.JoinBulk)
		l.send(text)
		l.read(0, text)
		l.hear.Close()
		if n, err := l.out.WriteRun(l.buf[:len(text)]); n != 0 || !errors.Is(err, syscall.EPIPE) {
			t.Errorf("WriteRun = %d, %v", n, err)
		}
		l.wantCalls("a run", "tee", "splice", fmt.Sprint("write ", len(text)))
	})
	t.Run("the start of a line", func(t *testing.T) {
		l := newJoinedPair(t)
		l.warm()
		first, line, rest := l.text(rpc.JoinBulk), strings.Repeat("y", 999)+"\n", l.text(rpc.JoinBulk)
		l.send(first + line[:600])
		l.read(0, first+line[:600])
		l.forward(len(first))
		l.calls.BehindTee = func(nth int) {
			if nth == 1 {
				l.send(line[600:] + rest)
			}
		}
		copy(l.buf, line[:600])
		l.read(600, line[600:]+rest)
		l.calls.Log = nil
		l.hear.Close()
		if n, err := l.out.WriteRun(l.buf[:len(line)+len(rest)]); n != 0 || !errors.Is(err, syscall.EPIPE) {
			t.Errorf("WriteRun = %d, %v", n, err)
		}
		l.wantCalls("the start", "write 1000")
	})
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
