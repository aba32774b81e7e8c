package hook

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"

	"codex-bridge.example/relay/hook/ask"
)

// socketName is the name of the socket in a server's folder. On Windows the file has an
// address.
const socketName = "hook.sock"

// askMethod is the only method. A connection carries one request.
const askMethod = "hook"

// askParams are the params of the request that package ask encodes.
type askParams struct {
	Token   string `json:"token"`
	Event   Event  `json:"event"`
	Timeout int64  `json:"timeoutMs"` // the time that the process has left
	Payload []byte `json:"payload"`
	TooLong bool   `json:"tooLong"` // Payload is only the head of Codex's input
}

// askResult is the result of a request. Package ask reads its encoding without a parser.
type askResult struct {
	Token  string `json:"token"`
	Output string `json:"output"` // the text for Codex, in base64; "": no opinion
}

// Error codes; the same as in the bridge's own protocol.
const (
	codeRefused = jrpc2.Code(-32010)
	codeClosing = jrpc2.Code(-32011)
	codeTimeout = jrpc2.Code(-32012)
)

// maxRequest is the maximum length in bytes of everything that a process sends.
var maxRequest = int64(base64.StdEncoding.EncodedLen(MaxPayload) + 4096)

// limitedChannel frames a connection by lines and limits the bytes received in all.
type limitedChannel struct {
	channel.Channel
	conn net.Conn
}

func newLimitedChannel(conn net.Conn, limit int64) *limitedChannel {
	return &limitedChannel{Channel: channel.Line(io.LimitReader(conn, limit), conn), conn: conn}
}

// Send writes a record. It clips the record because channel.Line appends to its argument.
func (w *limitedChannel) Send(record []byte) error { return w.Channel.Send(slices.Clip(record)) }

// Recv reads a record. The first must arrive before the connection's read deadline. Recv
// then removes the deadline, because the answer may take longer.
func (w *limitedChannel) Recv() ([]byte, error) {
	record, err := w.Channel.Recv()
	if err != nil {
		return nil, err // a partial record is ignored
	}
	return record, w.conn.SetReadDeadline(time.Time{})
}

func newTokens() ask.Tokens { return ask.Tokens{Request: rand.Text(), Reply: rand.Text()} }

func writeTokens(w ask.Tokens, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(w.Encode()); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// equalTokens compares two tokens in constant time.
func equalTokens(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
