package editor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
)

// ErrGone says that the server has closed its output: nothing more will come.
var ErrGone = errors.New("the server has closed its output")

// Options say what to start and how to behave.
type Options struct {
	Argv []string // the program and its arguments
	Env  []string // the whole environment; nil: our own
	Dir  string   // the working folder; empty: our own

	// Answer answers a request of the server. It runs in a goroutine of its
	// own; its context ends when the editor closes, after which nothing is
	// answered. nil: requests are left for the caller, see Reply.
	Answer func(context.Context, Message) (result any, err *Error)

	// Observe, if not nil, sees every message right after it was kept, one at
	// a time and in order. It must not call the editor.
	Observe func(Message)

	// Keep, if not 0, is how many of the newest messages are kept at least, and up to twice as many:
	// a conversation that goes on for hours would fill the memory. Places stay the same.
	Keep int

	// Wire, if not nil, rewrites the lines that the editor writes and reads.
	Wire Wire
}

// Wire rewrites lines between the editor and its pipes. The messages of an Editor, and the calls of
// Answer and Observe, do not contain what it adds or drops. Its methods may be called concurrently.
type Wire interface {
	// Outgoing returns the text to write for a line that has a method.
	Outgoing(method string, line []byte) []byte
	// Incoming returns the line to keep, if drop is false, and a line to write in response, or nil.
	Incoming(line []byte) (rest, reply []byte, drop bool)
}

// Editor is a running server and the conversation with it.
type Editor struct {
	Process *os.Process // the server's

	cmd     *exec.Cmd
	answer  func(context.Context, Message) (any, *Error)
	observe func(Message)
	wire    Wire
	stdin   *os.File
	stdout  *os.File
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	owned   sync.WaitGroup // reader, waiter, answers
	keeps   int            // Options.Keep
	exited  chan struct{}  // closed when exit is set

	writing sync.Mutex // held over a line and its record, so that the order is true

	mu       sync.Mutex
	messages []Message     // from the place forgot on
	forgot   int           // how many were there before
	changed  chan struct{} // closed and renewed with each message, with stderr and at the end
	gone     bool          // the server has closed its output
	nextID   int
	stderr   bytes.Buffer
	exit     Exit
}

// Start starts the server. Close ends it.
func Start(o Options) (*Editor, error) {
	if len(o.Argv) == 0 {
		return nil, errors.New("editor: no program to start")
	}
	// Pipes of our own: those of os/exec are closed by Wait, which would lose
	// what the server wrote last.
	theirIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("editor: %w", err)
	}
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		stdin.Close()
		return nil, fmt.Errorf("editor: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &Editor{
		answer: o.Answer, observe: o.Observe, wire: o.Wire, keeps: o.Keep,
		stdin: stdin, stdout: stdout,
		ctx: ctx, stop: stop,
		exited: make(chan struct{}), changed: make(chan struct{}),
	}
	e.cmd = exec.Command(o.Argv[0], o.Argv[1:]...)
	e.cmd.Env, e.cmd.Dir = o.Env, o.Dir
	e.cmd.Stdin, e.cmd.Stdout, e.cmd.Stderr = theirIn, theirOut, (*stderr)(e)
	// A grandchild that holds stderr open must not hold Wait for ever.
	e.cmd.WaitDelay = stderrDelay
	err = e.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		stop()
		stdin.Close()
		stdout.Close()
		return nil, fmt.Errorf("editor: %w", err)
	}
	e.Process = e.cmd.Process
	e.owned.Go(e.wait)
	e.owned.Go(e.read)
	return e, nil
}

// Initialize shakes hands: initialize with the given capabilities, then the
// initialized notification. nil capabilities stand for experimentalApi: true.
func (e *Editor) Initialize(ctx context.Context, capabilities map[string]any) (json.RawMessage, *Error) {
	if capabilities == nil {
		capabilities = map[string]any{"experimentalApi": true}
	}
	result, err := e.Call(ctx, "initialize", map[string]any{
		"clientInfo":   map[string]any{"name": "scripted-editor", "title": "Scripted editor", "version": "0.0.0"},
		"capabilities": capabilities,
	})
	if err != nil {
		return nil, err
	}
	if err := e.Notify("initialized", nil); err != nil {
		return nil, &Error{Message: "initialized", cause: err}
	}
	return result, nil
}

// Call sends a request with the next integer id and waits for its answer.
// params nil: none.
func (e *Editor) Call(ctx context.Context, method string, params any) (json.RawMessage, *Error) {
	e.mu.Lock()
	id := e.nextID
	e.nextID++
	e.mu.Unlock()
	return e.CallID(ctx, id, method, params)
}

// CallID is Call with an id of the caller's choice: an integer or a string. The
// answer waited for is the first one with that id that follows the request.
func (e *Editor) CallID(ctx context.Context, id any, method string, params any) (json.RawMessage, *Error) {
	fail := func(err error) (json.RawMessage, *Error) {
		return nil, &Error{Message: method, cause: err}
	}
	wantID, err := json.Marshal(id)
	if err != nil {
		return fail(err)
	}
	sent, err := e.send(request{ID: wantID, Method: method, Params: params})
	if err != nil {
		return fail(err)
	}
	m, err := e.Wait(ctx, sent+1, func(m Message) bool {
		return !m.Sent && m.IsAnswer() && bytes.Equal(m.ID, wantID)
	})
	if err != nil {
		return fail(err)
	}
	if m.Error != nil {
		return nil, m.Error
	}
	return m.Result, nil
}

// Notify sends a notification. params nil: none.
func (e *Editor) Notify(method string, params any) error {
	_, err := e.send(request{Method: method, Params: params})
	return err
}

// Reply answers a request of the server with a result.
func (e *Editor) Reply(m Message, result any) error {
	_, err := e.send(answer{ID: m.ID, Result: result})
	return err
}

// ReplyError answers a request of the server with an error.
func (e *Editor) ReplyError(m Message, fault *Error) error {
	_, err := e.send(failure{ID: m.ID, Error: fault})
	return err
}

type request struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method"`
	Params any             `json:"params,omitempty"`
}

type answer struct {
	ID     json.RawMessage `json:"id"`
	Result any             `json:"result"`
}

type failure struct {
	ID    json.RawMessage `json:"id"`
	Error *Error          `json:"error"`
}

func (e *Editor) send(v any) (int, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	method := ""
	if r, ok := v.(request); ok {
		method = r.Method
	}
	return e.write(method, append(b, '\n'))
}

// Send sends a line as it is and adds the newline.
func (e *Editor) Send(line []byte) error { return e.SendBytes(append(bytes.Clone(line), '\n')) }

// SendBytes sends bytes as they are, with no newline.
func (e *Editor) SendBytes(b []byte) error {
	_, err := e.write("", b)
	return err
}

// write records and sends a line with one write, and returns its place.
func (e *Editor) write(method string, line []byte) (int, error) {
	e.writing.Lock()
	defer e.writing.Unlock()
	// Kept first: the answer may be here before write returns.
	m := e.keep(line, true)
	if e.wire != nil && method != "" {
		line = e.wire.Outgoing(method, line)
	}
	_, err := e.stdin.Write(line)
	return m.Index, err
}

// keep appends to the record.
func (e *Editor) keep(line []byte, sent bool) Message {
	m := Message{Sent: sent, Raw: bytes.Clone(bytes.TrimSuffix(line, []byte("\n")))}
	m.read()
	e.mu.Lock()
	defer e.mu.Unlock()
	m.Index = e.forgot + len(e.messages)
	e.messages = append(e.messages, m)
	if e.keeps > 0 && len(e.messages) >= 2*e.keeps {
		n := len(e.messages) - e.keeps
		e.messages = slices.Clone(e.messages[n:]) // a caller of Messages keeps the old slice
		e.forgot += n
	}
	if e.observe != nil {
		e.observe(m)
	}
	e.wake()
	return m
}

// wake tells those who wait. mu is held.
func (e *Editor) wake() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// read takes the server's lines until its output ends.
func (e *Editor) read() {
	in := bufio.NewReaderSize(e.stdout, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			e.receive(bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil {
			// The end, or CloseOutput.
			e.mu.Lock()
			e.gone = true
			e.wake()
			e.mu.Unlock()
			return
		}
	}
}

// receive takes a line of the server.
func (e *Editor) receive(line []byte) {
	if e.wire != nil {
		rest, reply, drop := e.wire.Incoming(line)
		if reply != nil {
			e.owned.Go(func() { e.writeReply(reply) })
		}
		if drop {
			return
		}
		line = rest
	}
	if m := e.keep(line, false); m.IsRequest() && e.answer != nil {
		e.owned.Go(func() { e.answerRequest(m) })
	}
}

// writeReply writes a line without keeping it.
func (e *Editor) writeReply(reply []byte) {
	e.writing.Lock()
	defer e.writing.Unlock()
	_, _ = e.stdin.Write(append(reply, '\n')) // a server that is gone wants no answer
}

func (e *Editor) answerRequest(m Message) {
	result, err := e.answer(e.ctx, m)
	if e.ctx.Err() != nil {
		return
	}
	// A server that is gone needs no answer.
	if err != nil {
		_ = e.ReplyError(m, err)
		return
	}
	_ = e.Reply(m, result)
}

// Messages is the conversation so far, but for what was forgotten.
func (e *Editor) Messages() []Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clip(e.messages)
}

// Mark is the place of the next message: what Wait takes to look only at what
// is still to come.
func (e *Editor) Mark() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.forgot + len(e.messages)
}

// Wait is the first message from the given place on that fits. It fails with
// the context's error, or with ErrGone when no more can come.
func (e *Editor) Wait(ctx context.Context, from int, fits func(Message) bool) (Message, error) {
	for {
		e.mu.Lock()
		messages, forgot, changed, gone := e.messages, e.forgot, e.changed, e.gone
		e.mu.Unlock()
		for from = max(from, forgot); from < forgot+len(messages); from++ {
			if m := messages[from-forgot]; fits(m) {
				return m, nil
			}
		}
		if gone {
			return Message{}, ErrGone
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Message{}, ctx.Err()
		}
	}
}

// WaitFor is Wait for a received request or notification by its method.
func (e *Editor) WaitFor(ctx context.Context, from int, method string) (Message, error) {
	m, err := e.Wait(ctx, from, func(m Message) bool { return !m.Sent && m.Method == method })
	if err != nil {
		err = fmt.Errorf("%s: %w", strconv.Quote(method), err)
	}
	return m, err
}

// Stderr is what the server has written there so far.
func (e *Editor) Stderr() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stderr.String()
}

// WaitStderr is Stderr once it fits: a server's stderr comes by another way than its
// messages, and may come later. It fails with the context's error, or with ErrGone
// when no more can come.
func (e *Editor) WaitStderr(ctx context.Context, fits func(string) bool) (string, error) {
	for {
		e.mu.Lock()
		text, changed := e.stderr.String(), e.changed
		e.mu.Unlock()
		if fits(text) {
			return text, nil
		}
		select {
		case <-changed:
		case <-e.exited: // stderr was read to its end
			if text := e.Stderr(); fits(text) {
				return text, nil
			}
			return "", ErrGone
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// stderr is the editor as the writer of the server's stderr.
type stderr Editor

func (s *stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer (*Editor)(s).wake()
	return s.stderr.Write(b)
}

var _ io.Writer = (*stderr)(nil)
