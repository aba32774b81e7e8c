package ask

import (
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// MaxPayload is the most that Codex may say of one run, in bytes.
const MaxPayload = 1 << 20

// maxReply is more than an answer has: a replaced input is as long as a payload at most,
// and six times that when each byte is escaped.
const maxReply = 6*MaxPayload + 4096

// margin is what is left of Codex's time when the process gives up, or a fifth of that
// time if it is less: for its start, which Codex counts, and for what it prints. A
// denial that comes too late is none.
const margin = 500 * time.Millisecond

// Stage is what an Asking is at.
type Stage int32

// The stages.
const (
	Reading Stage = iota // what Codex says
	Reaching
	Waiting // for the answer
)

// Asking is one question on its way.
type Asking struct {
	Flags
	Span     time.Duration // what it may take
	deadline time.Time
	at       atomic.Int32
	done     chan struct{}

	// Once done is closed:
	payload []byte
	words   Words
	line    []byte
	err     error
}

// Start begins to ask. What it waits for may hang in a system call that knows no
// deadline, and then outlives it.
func Start(f Flags, stdin io.Reader) *Asking {
	a := &Asking{Flags: f, Span: f.Timeout - min(margin, f.Timeout/5), done: make(chan struct{})}
	a.deadline = time.Now().Add(a.Span)
	go a.run(stdin)
	return a
}

// Wait tells whether there is an outcome, in time.
func (a *Asking) Wait() bool {
	select {
	case <-a.done: // also when both are so
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

// Stage is what it is at when its time is up.
func (a *Asking) Stage() Stage { return Stage(a.at.Load()) }

// Expired tells whether its time is up.
func (a *Asking) Expired() bool { return !time.Now().Before(a.deadline) }

// Outcome is the line that the bridge has said, without its end, and the word by which
// it shows who it is. The error is a Failure or a Fault. Only after Wait.
func (a *Asking) Outcome() (line []byte, word string, err error) {
	return a.line, a.words.Answer, a.err
}

// Payload is what Codex has said; only after Wait, or at a later stage than Reading.
func (a *Asking) Payload() []byte { return a.payload }

// silent tells whether the bridge has no opinion, in the form in which it says so.
func (a *Asking) silent() bool {
	return a.err == nil && string(a.line) == `{"jsonrpc":"2.0","id":1,"result":{"token":"`+a.words.Answer+`","answer":{}}}`
}

func (a *Asking) run(stdin io.Reader) {
	defer close(a.done)
	defer func() {
		if fault := recover(); fault != nil {
			a.err = &Fault{fault}
		}
	}()
	a.err = a.ask(stdin)
}

// ask reads what Codex says and has the bridge decide.
func (a *Asking) ask(stdin io.Reader) error {
	payload, err := io.ReadAll(io.LimitReader(stdin, MaxPayload+1))
	switch {
	case err != nil:
		return &Failure{"what codex says can't be read: " + err.Error(), false}
	case len(payload) > MaxPayload:
		return &Failure{"what codex says of the call is longer than " + strconv.Itoa(MaxPayload) + " bytes", false}
	}
	a.payload = payload
	a.at.Store(int32(Reaching))
	conn, err := a.reach()
	if err != nil {
		return err
	}
	defer conn.Close()
	a.at.Store(int32(Waiting))
	if _, err := conn.Write(a.question()); err != nil {
		return a.ended()
	}
	return a.hear(conn)
}

// hear reads the one line of the answer.
func (a *Asking) hear(conn io.Reader) error {
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
		case err != nil: // half an answer is none
			return a.ended()
		case len(line) > maxReply:
			return &Failure{"what answers at " + a.Socket + " is not the bridge: it says more than " + strconv.Itoa(maxReply) + " bytes" + Reopen, false}
		case len(line) == cap(line):
			line = append(make([]byte, 0, 4*cap(line)), line...)
		}
	}
}

func (a *Asking) ended() error {
	return &Failure{"the bridge at " + a.Socket + " ended before it answered" + Reopen, true}
}
