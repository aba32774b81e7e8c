package serve_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// modelCodex is a simulated Codex. It behaves as measured with Codex 0.169: a question goes to all subscribed
// connections, and again to one that resumes the thread; the answer of any connection counts.
type modelCodex struct {
	world     *modelWorld
	conns     []*modelConn
	turns     int
	running   map[string]string     // turns by thread
	began     map[string]*modelConn // by turn
	questions []*modelQuestion
	story     []string // for failures
}

type modelQuestion struct {
	id, thread, turn, command    string
	open, delivered, wasAccepted bool
	outcome                      string
	orphaned                     time.Time
}

func (x *modelCodex) note(format string, args ...any) {
	x.story = append(x.story, fmt.Sprintf(format, args...))
}

// ask asks about a command of a thread's turn.
func (x *modelCodex) ask(thread string) {
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	if x.running[thread] == "" {
		return
	}
	id := fmt.Sprint(len(x.questions))
	q := &modelQuestion{id: id, thread: thread, turn: x.running[thread], command: "command " + id, open: true}
	x.questions = append(x.questions, q)
	for _, conn := range x.conns {
		if conn.threads[thread] {
			x.deliver(conn, q)
		}
	}
}

func (x *modelCodex) deliver(to *modelConn, q *modelQuestion) {
	q.delivered = true
	to.send(`{"id":%s,"method":%q,"params":{"threadId":%q,"turnId":%q,"itemId":%q,"command":%q,"cwd":"/"}}`, q.id, commandApproval, q.thread, q.turn, "item "+q.id, q.command)
}

// answered handles an answer to a question.
func (x *modelCodex) answered(id, outcome string) {
	for _, q := range x.questions {
		if q.id == id && q.open {
			q.open, q.outcome = false, outcome
			x.note("question %s: %s", id, outcome)
			x.tell(q.thread, `{"method":"serverRequest/resolved","params":{"threadId":%q,"requestId":%s}}`, q.thread, q.id)
		}
	}
}

// checkError fails if an error ends a question that another editor could answer.
func (x *modelCodex) checkError(from *modelConn, id, outcome string) {
	for _, q := range x.questions {
		if q.id != id || !q.open || outcome != "error" {
			continue
		}
		for _, c := range x.world.answerable(q.thread, q.turn) {
			if c.conn != from && !x.world.start.Silent[c.index] && c.hasOpen(q.command, false) {
				c.fail("an error of another editor has ended question %s", id)
			}
		}
	}
}

// complete ends the turn of a thread with its questions and hooks.
func (x *modelCodex) complete(thread string) {
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	x.completeLocked(thread)
}

func (x *modelCodex) completeLocked(thread string) {
	turn := x.running[thread]
	if turn == "" {
		return
	}
	for _, q := range x.questions {
		if q.open && q.turn == turn {
			x.answered(q.id, "interrupted")
		}
	}
	for _, h := range x.world.hooks {
		if h.turn == turn {
			h.cancel()
		}
	}
	delete(x.running, thread)
	x.tell(thread, `{"method":"turn/completed","params":{"threadId":%q,"turn":{"id":%q}}}`, thread, turn)
}

// tell sends a notification to the connections that are subscribed to a thread.
func (x *modelCodex) tell(thread, format string, args ...any) {
	for _, conn := range x.conns {
		if conn.threads[thread] {
			conn.send(format, args...)
		}
	}
}

func (x *modelCodex) lastQuestion() string {
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	if len(x.questions) == 0 {
		return ""
	}
	return x.questions[len(x.questions)-1].id
}

func (x *modelCodex) isOpen(id string) bool {
	return slices.ContainsFunc(x.questions, func(q *modelQuestion) bool { return q.id == id && q.open })
}

func (x *modelCodex) isSubscribed(conn *modelConn, thread string) bool {
	return slices.Contains(x.conns, conn) && conn.threads[thread]
}

// modelConn is a connection of the bridge to the simulated Codex.
type modelConn struct {
	codex              *modelCodex
	toCodex, fromCodex *linePipe
	threads            map[string]bool // subscribed
	leave              func()
	once               sync.Once
	done               chan struct{}
}

func newModelConn(x *modelCodex) *modelConn {
	conn := &modelConn{codex: x, toCodex: newLinePipe(), fromCodex: newLinePipe(), threads: make(map[string]bool), done: make(chan struct{})}
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	x.conns = append(x.conns, conn)
	return conn
}

func (c *modelConn) send(format string, args ...any) {
	_, _ = fmt.Fprintf(c.fromCodex, format+"\n", args...)
}

// receive handles a line that Codex gets.
func (c *modelConn) receive(line string) {
	x := c.codex
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	if !slices.Contains(x.conns, c) {
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ ThreadID, TurnID string }
		Result struct{ Decision string }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		panic(err)
	}
	thread := m.Params.ThreadID
	switch m.Method {
	case "":
		outcome := m.Result.Decision
		if outcome == "" {
			outcome = "error"
		}
		x.checkError(c, string(m.ID), outcome)
		x.answered(string(m.ID), outcome)
		return
	case "thread/resume":
		c.threads[thread] = true
		c.send(`{"id":%s,"result":{"thread":{"id":%q}}}`, m.ID, thread)
		for _, q := range x.questions {
			if q.open && q.thread == thread {
				x.deliver(c, q)
			}
		}
		return
	case "thread/unsubscribe":
		delete(c.threads, thread)
	case "turn/start":
		if x.running[thread] == "" {
			x.turns++
			x.running[thread] = fmt.Sprint("turn ", x.turns)
			x.began[x.running[thread]] = c
			x.tell(thread, `{"method":"turn/started","params":{"threadId":%q,"turn":{"id":%q}}}`, thread, x.running[thread])
		}
		c.send(`{"id":%s,"result":{"turn":{"id":%q}}}`, m.ID, x.running[thread])
		return
	case "turn/interrupt":
		if m.Params.TurnID == x.running[thread] {
			x.completeLocked(thread)
		}
	}
	c.send(`{"id":%s,"result":{}}`, m.ID)
}

// Streams implements bridge.Upstream.
func (c *modelConn) Streams() (io.WriteCloser, io.ReadCloser) { return c.toCodex, c.fromCodex }

// Done implements bridge.Upstream.
func (c *modelConn) Done() <-chan struct{} { return c.done }

// ExitState implements bridge.Upstream.
func (c *modelConn) ExitState() *os.ProcessState { return nil }

// Signal implements bridge.Upstream.
func (c *modelConn) Signal(os.Signal) {}

// Stop implements bridge.Upstream.
func (c *modelConn) Stop(time.Duration) { c.Kill() }

// ExitsWithin implements bridge.Upstream.
func (c *modelConn) ExitsWithin(time.Duration) bool { return true }

// PID implements bridge.Upstream.
func (c *modelConn) PID() int { return 1 }

// Kill implements bridge.Upstream.
func (c *modelConn) Kill() {
	c.once.Do(func() {
		c.leave()
		w := c.codex.world
		w.mu.Lock()
		w.codex.conns = slices.DeleteFunc(w.codex.conns, func(one *modelConn) bool { return one == c })
		w.mu.Unlock()
		c.toCodex.Close()
		c.fromCodex.Close()
		close(c.done)
	})
}

// linePipe is a pipe without a limit.
type linePipe struct {
	mu      sync.Mutex
	changed sync.Cond
	text    []byte
	closed  bool
}

func newLinePipe() *linePipe {
	p := new(linePipe)
	p.changed.L = &p.mu
	return p
}

// Write implements io.Writer.
func (p *linePipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	p.text = append(p.text, b...)
	p.changed.Broadcast()
	return len(b), nil
}

// Read implements io.Reader.
func (p *linePipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.text) == 0 && !p.closed {
		p.changed.Wait()
	}
	n := copy(b, p.text)
	if p.text = p.text[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close ends the pipe after the text that was written.
func (p *linePipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.changed.Broadcast()
	return nil
}

// eachLine calls f for each line until the end.
func (p *linePipe) eachLine(f func(line string)) {
	text := ""
	for b := make([]byte, 4096); ; {
		n, err := p.Read(b)
		text += string(b[:n])
		for {
			line, rest, whole := strings.Cut(text, "\n")
			if !whole {
				break
			}
			text = rest
			f(line)
		}
		if err != nil {
			return
		}
	}
}
