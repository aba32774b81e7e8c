//go:build !portable

package rpc_test

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
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

// warm forwards one large run, with a copy: the next Read expects another.
func (l *joinedPair) warm() {
	l.t.Helper()
	text := l.text(rpc.JoinBulk)
	l.send(text)
	l.read(0, text)
	l.forward(len(text))
	l.wantCalls("the first run", fmt.Sprint("write ", rpc.JoinBulk))
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
