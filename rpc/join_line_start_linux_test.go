//go:build !portable

package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

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
