//go:build !portable

package rpc

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// JoinCalls records the calls by which the two ends of Join keep and forward bytes.
type JoinCalls struct {
	Log       []string      // "tee", "splice" and "write N", in order
	NoSplice  func() bool   // reports whether the next splice fails
	BehindTee func(nth int) // called after each tee
	Pause     func()        // called in place of a pause after a burst
	tees      int
}

// RecordCalls records the calls of j, a result of Join. ok is false if Join has returned its
// arguments.
func RecordCalls(j io.Reader) (calls *JoinCalls, ok bool) {
	both, ok := j.(*joined)
	if !ok {
		return nil, false
	}
	calls = &JoinCalls{}
	both.from, both.to = recordedConn{both.from, calls, "tee"}, recordedConn{both.to, calls, "splice"}
	both.out = recordedWriter{both.out, calls}
	both.pause = func() {
		if calls.Pause != nil {
			calls.Pause()
		}
	}
	return calls, true
}

type recordedConn struct {
	syscall.RawConn
	calls *JoinCalls
	name  string
}

func (c recordedConn) Control(f func(uintptr)) error {
	c.calls.Log = append(c.calls.Log, c.name)
	if c.name == "splice" && c.calls.NoSplice != nil && c.calls.NoSplice() {
		return errors.New("no splice")
	}
	err := c.RawConn.Control(f)
	if c.name == "tee" && c.calls.BehindTee != nil {
		c.calls.tees++
		c.calls.BehindTee(c.calls.tees)
	}
	return err
}

type recordedWriter struct {
	io.Writer
	calls *JoinCalls
}

func (w recordedWriter) Write(b []byte) (int, error) {
	w.calls.Log = append(w.calls.Log, fmt.Sprintf("write %d", len(b)))
	return w.Writer.Write(b)
}

// JoinBulk is the shortest run that Join forwards without a copy.
const JoinBulk = minSplice

// Sizes of bursts.
const (
	JoinBurstLines = burstLines
	JoinBurstSize  = burstSize
)
