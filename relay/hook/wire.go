package hook

import (
	"encoding/base64"
	"io"
	"net"
	"slices"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
)

// socketName is the socket in a server's folder. On Windows it holds an address.
const socketName = "hook.sock"

// method is the one thing that is asked, once in a connection.
const method = "hook"

// question is what a process asks; ask writes it.
type question struct {
	Token   string `json:"token"`
	Event   Event  `json:"event"`
	Timeout int64  `json:"timeoutMs"` // what the process has left
	Payload []byte `json:"payload"`
}

// reply is what it is answered. That of no opinion ask knows byte by byte.
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

// maxQuestion bounds all that a process may say.
var maxQuestion = int64(base64.StdEncoding.EncodedLen(MaxPayload) + 4096)

// wire frames a process's connection by lines, up to so many bytes in all.
type wire struct {
	channel.Channel
	conn net.Conn
}

func newWire(conn net.Conn, limit int64) *wire {
	return &wire{Channel: channel.Line(io.LimitReader(conn, limit), conn), conn: conn}
}

// Send writes a record. channel.Line appends to what it is given, which is the caller's.
func (w *wire) Send(record []byte) error { return w.Channel.Send(slices.Clip(record)) }

// Recv reads a record. The first has to come in time, as the deadline of the connection
// has it; how long the answer takes is not for the connection to say.
func (w *wire) Recv() ([]byte, error) {
	record, err := w.Channel.Recv()
	if err != nil {
		return nil, err // half a record is none
	}
	return record, w.conn.SetReadDeadline(time.Time{})
}
