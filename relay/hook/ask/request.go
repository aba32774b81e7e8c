package ask

import (
	"encoding/base64"
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// MaxPayload is the maximum length of a hook's input in bytes. Of a longer one, the bridge gets
// the first HeadLen bytes, so that it can log the refusal. Measured on two busy cores: 4 MiB take a
// second and 12 MiB of memory in the process, and 16 MiB up to 9 seconds. With Codex 0.169 alone, a
// patch of 5 MB takes 27 seconds.
const (
	MaxPayload = 4 << 20
	HeadLen    = 64 << 10
)

// maxReply is above the length of any reply: the largest is a replaced input, as long as a
// payload, with every byte escaped to six, in base64.
const maxReply = 8*MaxPayload + 4096

// exitMargin is the part of Codex's timeout that is kept for starting the process and
// printing the answer, at most a fifth of it. Codex ignores a denial that comes too late.
const exitMargin = 500 * time.Millisecond

// Stage is the progress of a Request.
type Stage int32

// The stages, in order.
const (
	Reading Stage = iota // Codex's input
	Connecting
	Waiting // for the bridge's reply
)

// Request is one request to the bridge in progress.
type Request struct {
	Flags
	TimeLimit time.Duration // from the start to the deadline
	deadline  time.Time
	stage     atomic.Int32
	done      chan struct{}

	// Written before done is closed:
	payload []byte
	tooLong bool // payload is only the head of the input
	tokens  Tokens
	line    []byte
	err     error

	writeErr error // of init
}

// Start reads the input from stdin and sends the request to the bridge, in a goroutine.
// That goroutine may hang in a system call without a deadline, and then outlives the
// Request.
func Start(f Flags, stdin io.Reader) *Request {
	a := &Request{Flags: f, TimeLimit: f.Timeout - min(exitMargin, f.Timeout/5), done: make(chan struct{})}
	a.deadline = time.Now().Add(a.TimeLimit)
	go a.run(stdin)
	return a
}

// Wait waits for the reply and reports whether it came before the deadline.
func (a *Request) Wait() bool {
	select {
	case <-a.done: // prefer the reply if the deadline has passed too
		return true
	default:
	}
	up := time.NewTimer(time.Until(a.deadline))
	defer up.Stop()
	select {
	case <-a.done:
		return true
	case <-up.C:
		return false
	}
}

// Stage returns the current stage, or the last one reached.
func (a *Request) Stage() Stage { return Stage(a.stage.Load()) }

// Expired reports whether the deadline has passed.
func (a *Request) Expired() bool { return !time.Now().Before(a.deadline) }

// Reply returns the bridge's line without its newline. The error is a [Failure] or a [Panic]. It
// must be called only after Wait has returned true.
func (a *Request) Reply() (line []byte, err error) { return a.line, a.err }

// Output returns the text for Codex in the bridge's reply, which is empty if the bridge has no
// opinion. ok is false for any other reply: without the reply token, an error, or of another version.
// It must be called only after Wait has returned true.
func (a *Request) Output() (text []byte, ok bool) {
	start, end := `{"jsonrpc":"2.0","id":1,"result":{"token":"`+a.tokens.Reply+`","output":"`, `"}}`
	length := len(a.line) - len(start) - len(end)
	if a.err != nil || length < 0 || string(a.line[:len(start)]) != start || string(a.line[len(start)+length:]) != end {
		return nil, false
	}
	text, err := base64.StdEncoding.Strict().DecodeString(string(a.line[len(start) : len(start)+length]))
	return text, err == nil
}

// WriteError returns the error with which init has failed to write the output, of which Codex may have
// got a part.
func (a *Request) WriteError() error { return a.writeErr }

// Payload returns Codex's input, or only its head if that is too long. It must be called only
// after Wait has returned true, or at a stage after Reading.
func (a *Request) Payload() (payload []byte, tooLong bool) { return a.payload, a.tooLong }

func (a *Request) run(stdin io.Reader) {
	defer close(a.done)
	defer func() {
		if fault := recover(); fault != nil {
			a.err = &Panic{fault}
		}
	}()
	a.err = a.ask(stdin)
}

// ask reads Codex's input, sends the request and reads the reply.
func (a *Request) ask(stdin io.Reader) error {
	payload, err := io.ReadAll(io.LimitReader(stdin, MaxPayload+1))
	switch {
	case err != nil:
		return &Failure{"codex's hook input can't be read: " + err.Error(), false}
	case len(payload) > MaxPayload:
		payload, a.tooLong = payload[:HeadLen], true
	}
	a.payload = payload
	a.stage.Store(int32(Connecting))
	conn, err := a.dialBridge()
	if err != nil {
		return err
	}
	defer conn.Close()
	a.stage.Store(int32(Waiting))
	if _, err := conn.Write(a.encode()); err != nil {
		return a.bridgeGoneFailure()
	}
	return a.readReply(conn)
}

// readReply reads one line.
func (a *Request) readReply(conn io.Reader) error {
	line := make([]byte, 0, 4096)
	for {
		n, err := conn.Read(line[len(line):cap(line)])
		fresh := line[len(line) : len(line)+n]
		for i, c := range fresh {
			if c == '\n' {
				a.line = line[:len(line)+i]
				return nil
			}
		}
		line = line[:len(line)+n]
		switch {
		case err != nil: // an incomplete reply is ignored
			return a.bridgeGoneFailure()
		case len(line) > maxReply:
			return &Failure{"the process at " + a.Socket + " is not the bridge: it sent more than " + strconv.Itoa(maxReply) + " bytes" + ReopenHint, false}
		case len(line) == cap(line):
			line = append(make([]byte, 0, 4*cap(line)), line...)
		}
	}
}

func (a *Request) bridgeGoneFailure() error {
	return &Failure{"the bridge at " + a.Socket + " ended before it answered" + ReopenHint, true}
}

// encode returns the JSON-RPC request with its newline. The payload is base64, because it
// must arrive byte for byte. A JSON string would change invalid UTF-8, and be up to six
// times as long. The other values need no escaping.
func (a *Request) encode() []byte {
	left := max(time.Until(a.deadline).Milliseconds(), 1)
	b := make([]byte, 0, 256+len(a.tokens.Request)+base64.StdEncoding.EncodedLen(len(a.payload)))
	b = append(b, `{"jsonrpc":"2.0","id":1,"method":"hook","params":{"token":"`...)
	b = append(b, a.tokens.Request...)
	b = append(b, `","event":"`...)
	b = append(b, a.Event...)
	b = append(b, `","timeoutMs":`...)
	b = strconv.AppendInt(b, left, 10)
	b = append(b, `,"payload":"`...)
	b = base64.StdEncoding.AppendEncode(b, a.payload)
	b = append(b, `","tooLong":`...)
	b = strconv.AppendBool(b, a.tooLong)
	return append(b, "}}\n"...)
}

// Failure is the reason why there is no answer.
type Failure struct {
	Reason   string
	NoBridge bool // no bridge answered; else the request was wrong or unsafe
}

func (f *Failure) Error() string { return f.Reason }

// ReopenHint tells the user what to do when a thread's bridge is gone.
const ReopenHint = "; open the thread anew, and restart the editor if that does not help"

// Panic is a panic in the goroutine of a Request.
type Panic struct{ Value any }

func (f *Panic) Error() string { return "internal error" }
