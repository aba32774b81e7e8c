package hook

import (
	"encoding/base64"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
)

// The files of a server's folder. On Windows the first holds an address.
const (
	socketName = "hook.sock"
	tokenName  = "token"
)

// method is the one thing that is asked, once in a connection.
const method = "hook"

// question is what a process asks.
type question struct {
	Token   string `json:"token"`
	Event   Event  `json:"event"`
	Timeout int64  `json:"timeoutMs"` // what the process has left
	// Payload goes as base64: what Codex wrote must arrive byte by byte, since a JSON
	// encoder would make it six times as long, or well-formed.
	Payload []byte `json:"payload"`
}

// reply is what it is answered.
type reply struct {
	Token  string  `json:"token"`
	Answer *Answer `json:"answer"`
}

// The codes of the errors that it is answered; the contract's.
const (
	codeRefused = jrpc2.Code(-32010)
	codeClosing = jrpc2.Code(-32011)
	codeLate    = jrpc2.Code(-32012)
)

const (
	slack = 4096
	// maxReply is more than an answer has: a replaced input is as long as a payload at
	// most, and six times that when each byte is escaped.
	maxReply = 6*MaxPayload + slack
)

// maxQuestion bounds all that a process may say.
var maxQuestion = int64(base64.StdEncoding.EncodedLen(MaxPayload) + slack)

// drained is how long an answer that was read may take to be given out, when the
// connection ends behind it.
const drained = 100 * time.Millisecond

// wire frames a connection by lines, up to so many bytes in all.
type wire struct {
	channel.Channel
	conn  net.Conn
	heard atomic.Bool // a record came
	lost  atomic.Bool // the connection ended

	drain  bool // of the side that waits for an answer
	once   sync.Once
	closed chan struct{}
}

func newWire(conn net.Conn, limit int64) *wire {
	return &wire{Channel: channel.Line(io.LimitReader(conn, limit), conn), conn: conn, closed: make(chan struct{})}
}

// Send writes a record. channel.Line appends to what it is given, which is the caller's.
func (w *wire) Send(record []byte) error {
	err := w.Channel.Send(slices.Clip(record))
	if err != nil {
		w.lost.Store(true)
	}
	return err
}

// Recv reads a record. The first has to come in time, as the deadline of the connection
// has it; how long the answer takes is not for the connection to say.
func (w *wire) Recv() ([]byte, error) {
	record, err := w.Channel.Recv()
	if err == nil {
		w.heard.Store(true)
		return record, w.conn.SetReadDeadline(time.Time{})
	}
	w.lost.Store(true)
	if w.drain && w.heard.Load() {
		// jrpc2's client lets the end of the connection overtake the answer before it
		// (measured).
		select {
		case <-w.closed:
		case <-time.After(drained):
		}
	}
	return nil, err // half a record is none
}

// Close closes the connection.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Channel.Close()
}
