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

// ErrClosed means that the server closed its output: no more messages follow.
var ErrClosed = errors.New("the server closed its output")

// Options select the program and its behaviour.
type Options struct {
	Argv []string // the program and its arguments
	Env  []string // the whole environment; nil: this process's
	Dir  string   // the working folder; empty: this process's

	// Answer responds to a request of the server, in its own goroutine. Its context ends when the
	// editor closes, and later results are dropped. nil: the caller responds; see Reply.
	Answer func(context.Context, Message) (result any, err *Error)

	// Observe, if not nil, is called for each recorded message, one at a time and in order. It must
	// not call the editor.
	Observe func(Message)

	// MaxKept, if not 0, limits the record for conversations of hours: the editor keeps at least so
	// many of the newest messages, and up to twice as many. Indexes do not change.
	MaxKept int

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

// Editor is a running server and its conversation.
type Editor struct {
	Process *os.Process // of the server

	cmd        *exec.Cmd
	answer     func(context.Context, Message) (any, *Error)
	observe    func(Message)
	wire       Wire
	stdin      *os.File
	stdout     *os.File
	ctx        context.Context // ends with Close
	stop       context.CancelFunc
	goroutines sync.WaitGroup // reader, waiter, answers
	maxKept    int            // Options.MaxKept
	exited     chan struct{}  // closed when exit is set

	writing sync.Mutex // held while a line is recorded and written, so that the order is true

	mu       sync.Mutex
	messages []Message     // from index dropped on
	dropped  int           // number of messages before that
	changed  chan struct{} // closed and replaced with each message, with stderr and at the end
	closed   bool          // the server closed its output
	nextID   int
	stderr   bytes.Buffer
	exit     Exit
}

// Start starts the server. Close ends it.
func Start(o Options) (*Editor, error) {
	if len(o.Argv) == 0 {
		return nil, errors.New("editor: no program to start")
	}
	// These are not the pipes of os/exec, because Wait would close them before the last output is
	// read.
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
		answer: o.Answer, observe: o.Observe, wire: o.Wire, maxKept: o.MaxKept,
		stdin: stdin, stdout: stdout,
		ctx: ctx, stop: stop,
		exited: make(chan struct{}), changed: make(chan struct{}),
	}
	e.cmd = exec.Command(o.Argv[0], o.Argv[1:]...)
	e.cmd.Env, e.cmd.Dir = o.Env, o.Dir
	e.cmd.Stdin, e.cmd.Stdout, e.cmd.Stderr = theirIn, theirOut, (*stderr)(e)
	// A grandchild that holds stderr open must not block Wait forever.
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
	e.goroutines.Go(e.wait)
	e.goroutines.Go(e.read)
	return e, nil
}

// Initialize sends initialize with the given capabilities, then the initialized notification. nil
// means experimentalApi: true.
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

// Call sends a request with the next integer id and waits for the response. params may be nil.
func (e *Editor) Call(ctx context.Context, method string, params any) (json.RawMessage, *Error) {
	e.mu.Lock()
	id := e.nextID
	e.nextID++
	e.mu.Unlock()
	return e.CallID(ctx, id, method, params)
}

// CallID is Call with an id of the caller, an integer or a string. It returns the first response
// with that id after the request.
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

// Notify sends a notification. params may be nil.
func (e *Editor) Notify(method string, params any) error {
	_, err := e.send(request{Method: method, Params: params})
	return err
}

// Reply sends a result for a request of the server.
func (e *Editor) Reply(m Message, result any) error {
	_, err := e.send(answer{ID: m.ID, Result: result})
	return err
}

// ReplyError sends an error for a request of the server.
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

// Send sends a line unchanged and adds the newline.
func (e *Editor) Send(line []byte) error { return e.SendBytes(append(bytes.Clone(line), '\n')) }

// SendBytes sends bytes unchanged, without a newline.
func (e *Editor) SendBytes(b []byte) error {
	_, err := e.write("", b)
	return err
}

// write records and sends a line with one write, and returns its index.
func (e *Editor) write(method string, line []byte) (int, error) {
	e.writing.Lock()
	defer e.writing.Unlock()
	// Record first: the response may arrive before the write returns.
	m := e.record(line, true)
	if e.wire != nil && method != "" {
		line = e.wire.Outgoing(method, line)
	}
	_, err := e.stdin.Write(line)
	return m.Index, err
}

// record appends a message to the record.
func (e *Editor) record(line []byte, sent bool) Message {
	m := Message{Sent: sent, Raw: bytes.Clone(bytes.TrimSuffix(line, []byte("\n")))}
	m.read()
	e.mu.Lock()
	defer e.mu.Unlock()
	m.Index = e.dropped + len(e.messages)
	e.messages = append(e.messages, m)
	if e.maxKept > 0 && len(e.messages) >= 2*e.maxKept {
		n := len(e.messages) - e.maxKept
		e.messages = slices.Clone(e.messages[n:]) // callers of Messages keep the old slice
		e.dropped += n
	}
	if e.observe != nil {
		e.observe(m)
	}
	e.notifyWaiters()
	return m
}

// notifyWaiters wakes the waiting calls. The caller holds mu.
func (e *Editor) notifyWaiters() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// read reads the server's lines until its output ends.
func (e *Editor) read() {
	in := bufio.NewReaderSize(e.stdout, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			e.receive(bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil {
			// The end of the output, or CloseOutput.
			e.mu.Lock()
			e.closed = true
			e.notifyWaiters()
			e.mu.Unlock()
			return
		}
	}
}

// receive handles a line of the server.
func (e *Editor) receive(line []byte) {
	if e.wire != nil {
		rest, reply, drop := e.wire.Incoming(line)
		if reply != nil {
			e.goroutines.Go(func() { e.writeReply(reply) })
		}
		if drop {
			return
		}
		line = rest
	}
	if m := e.record(line, false); m.IsRequest() && e.answer != nil {
		e.goroutines.Go(func() { e.answerRequest(m) })
	}
}

// writeReply writes a line without recording it.
func (e *Editor) writeReply(reply []byte) {
	e.writing.Lock()
	defer e.writing.Unlock()
	_, _ = e.stdin.Write(append(reply, '\n')) // an ended server needs no response
}

func (e *Editor) answerRequest(m Message) {
	result, err := e.answer(e.ctx, m)
	if e.ctx.Err() != nil {
		return
	}
	// An ended server needs no response.
	if err != nil {
		_ = e.ReplyError(m, err)
		return
	}
	_ = e.Reply(m, result)
}

// Messages returns the recorded conversation, without dropped messages.
func (e *Editor) Messages() []Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clip(e.messages)
}

// Mark returns the index of the next message, so that Wait considers only later ones.
func (e *Editor) Mark() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dropped + len(e.messages)
}

// Wait returns the first message from an index on for which fits returns true. It returns the
// context's error, or ErrClosed when no more messages follow.
func (e *Editor) Wait(ctx context.Context, from int, fits func(Message) bool) (Message, error) {
	for {
		e.mu.Lock()
		messages, forgot, changed, gone := e.messages, e.dropped, e.changed, e.closed
		e.mu.Unlock()
		for from = max(from, forgot); from < forgot+len(messages); from++ {
			if m := messages[from-forgot]; fits(m) {
				return m, nil
			}
		}
		if gone {
			return Message{}, ErrClosed
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

// Stderr returns the server's stderr so far.
func (e *Editor) Stderr() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stderr.String()
}

// WaitStderr returns the server's stderr when fits returns true for it: stderr is not ordered with
// the messages. It returns the context's error, or ErrClosed when no more output follows.
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
			return "", ErrClosed
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// stderr is the writer of the server's stderr.
type stderr Editor

func (s *stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer (*Editor)(s).notifyWaiters()
	return s.stderr.Write(b)
}

var _ io.Writer = (*stderr)(nil)
