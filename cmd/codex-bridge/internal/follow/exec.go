package follow

import (
	"io"
	"strings"
	"sync"

	"codex-bridge.example/rpc"
)

// ExecOptions say how an ExecTurn prints.
type ExecOptions struct {
	Out, Err    io.Writer
	JSON        bool
	Colour      bool
	OutTerminal bool // Out is a terminal
	ErrTerminal bool
	OwnHooks    string // the sourcePath of the bridge's hooks
}

// ExecThread describes an opened thread.
type ExecThread struct {
	ID       string
	Version  string    // of Codex
	Prompt   string    // or what a review is about
	Settings rpc.Value // the response that opened the thread
	Config   rpc.Value // Codex's configuration
	TempDir  string    // $TMPDIR
}

// PrintsMessage reports whether the last message is the end of the output.
func (o ExecOptions) PrintsMessage() bool { return !o.JSON && (!o.OutTerminal || !o.ErrTerminal) }

// form is one of the two ways to print a turn.
type form interface {
	opened(ExecThread)
	show(method string, params rpc.Value)
	// end prints what follows the turn. message is nil without one.
	end(message *string)
}

// ExecTurn prints one turn as `codex exec` does. Show may be called concurrently with the other methods.
type ExecTurn struct {
	form form
	done chan struct{}

	mu      sync.Mutex
	thread  string
	turn    string // "" until Started
	review  bool
	early   []notification // before Started
	message *string        // the last of the agent
	over    bool
	// completed reports that Codex has called the turn completed, and failed that there was an error.
	completed, failed bool
}

type notification struct {
	method string
	params rpc.Value
}

// NewExecTurn returns an ExecTurn that prints nothing until Opened.
func NewExecTurn(o ExecOptions) *ExecTurn {
	t := &ExecTurn{done: make(chan struct{})}
	if o.JSON {
		t.form = &jsonForm{out: o.Out, err: o.Err, ids: map[string]string{}}
	} else {
		t.form = &textForm{ExecOptions: o}
	}
	return t
}

// Opened prints the start of the output.
func (t *ExecTurn) Opened(thread ExecThread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.thread = thread.ID
	t.form.opened(thread)
}

// Started sets the id of the turn, and prints the notifications that came before.
func (t *ExecTurn) Started(id string, review bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn, t.review = id, review
	for _, n := range t.early {
		t.take(n)
	}
	t.early = nil
}

// Show prints a notification of the app-server, if it is about this turn or about no turn.
func (t *ExecTurn) Show(method string, params rpc.Value) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := notification{method, params}
	if t.turn == "" {
		t.early = append(t.early, n)
	} else {
		t.take(n)
	}
}

func (t *ExecTurn) take(n notification) {
	if t.over || !t.isMine(n.params) {
		return
	}
	turn := n.params.Get("turn")
	switch n.method {
	case "error":
		retries, _ := n.params.Get("willRetry").Bool()
		t.failed = t.failed || !retries
	case "item/completed":
		if item := n.params.Get("item"); item.Get("type").Is("agentMessage") {
			t.setMessage(item)
		}
	case "turn/completed":
		t.over = true
		t.endTurn(turn)
	}
	t.form.show(n.method, n.params)
	if t.over {
		close(t.done)
	}
}

// isMine reports whether the notification is about this thread and turn, or names none. The events of a
// review have other turn ids than its response (measured).
func (t *ExecTurn) isMine(params rpc.Value) bool {
	if thread, ok := params.Get("threadId").Text(); ok && thread != t.thread {
		return false
	}
	turn, ok := params.Get("turnId").Text()
	if !ok {
		turn, ok = params.Get("turn").Get("id").Text()
	}
	return !ok || turn == t.turn || t.review
}

// endTurn sets the outcome. A failed turn has no message.
func (t *ExecTurn) endTurn(turn rpc.Value) {
	if t.completed = turn.Get("status").Is("completed"); !t.completed {
		t.failed, t.message = true, nil
		return
	}
	for _, kind := range []string{"plan", "agentMessage"} { // the latter counts more
		for item := range turn.Get("items").Elements() {
			if item.Get("type").Is(kind) {
				t.setMessage(item)
			}
		}
	}
}

func (t *ExecTurn) setMessage(item rpc.Value) {
	text := textOf(item, "text")
	t.message = &text
}

// Done returns a channel that is closed when the turn has ended.
func (t *ExecTurn) Done() <-chan struct{} { return t.done }

// Message returns the last message of the agent, or nil.
func (t *ExecTurn) Message() *string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.message
}

// Completed reports whether the turn has not failed.
func (t *ExecTurn) Completed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.completed
}

// End prints the end of the output, and reports whether there was no error.
func (t *ExecTurn) End() (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.early { // without a turn
		t.take(n)
	}
	t.form.end(t.message)
	return !t.failed
}

func textOf(v rpc.Value, name string) string {
	text, _ := v.Get(name).Text()
	return text
}

// warningOf returns the text of a notification that warns; false for another one.
func warningOf(method string, params rpc.Value) (string, bool) {
	switch method {
	case "configWarning", "deprecationNotice":
		return withDetails(textOf(params, "summary"), textOf(params, "details")), true
	case "warning", "guardianWarning":
		return textOf(params, "message"), true
	}
	return "", false
}

// isOwnNotice reports whether a warning is of the bridge, whose warnings all begin with its name. Their form does not
// tell: Codex's own ones may be without details, too (measured). Among the events of --json a notice of the bridge would
// look like an error of the turn, and shift the ids of items.
func isOwnNotice(text string) bool { return strings.HasPrefix(text, "codex-bridge") }

// errorOf returns the text of an error of a turn.
func errorOf(failure rpc.Value) string {
	return withDetails(textOf(failure, "message"), textOf(failure, "additionalDetails"))
}

func withDetails(text, details string) string {
	if details != "" {
		return text + " (" + details + ")"
	}
	return text
}
