//go:build !portable

package rpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"codex-bridge.example/rpc"
)

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
