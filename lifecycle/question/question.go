// Package question keeps the questions that the model asks and that nobody is there to be
// shown: the next message for the thread answers them.
//
// A Desk may be used by several goroutines. There is one question for a thread at the
// most; every question that is opened is answered once.
package question

import (
	"encoding/json"
	"sync"

	"codex-bridge/relay/answer"
	"codex-bridge/rpc"
)

// Desk is the open questions, by thread.
type Desk struct {
	mu   sync.Mutex
	open map[string]*asked
}

type asked struct {
	id        string // of Codex's request
	turn      string
	questions []answer.Question
	answer    func(result json.RawMessage)
}

// New makes a Desk.
func New() *Desk { return &Desk{open: make(map[string]*asked)} }

// none is the answer to a question that is over.
var none = answer.Reply(nil, "")

// Ask opens the questions of an item/tool/requestUserInput, params, and returns the lines
// by which a chat asks them. f is called once, with the result: without a question that
// can be asked at once, and lines are then nil. One that was open before is answered with
// nothing. f must not wait.
func (d *Desk) Ask(id rpc.ID, params rpc.Value, f func(result json.RawMessage)) (lines []string) {
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	questions := answer.Questions(params)
	if thread == "" || len(questions) == 0 {
		f(none)
		return nil
	}
	d.take(thread, func(*asked) bool { return true }).end(none)
	d.mu.Lock()
	before := d.open[thread] // of who was as quick
	d.open[thread] = &asked{id.Key(), turn, questions, f}
	d.mu.Unlock()
	before.end(none)
	return answer.Prompt(questions)
}

// Answer answers the question of a thread with a message; false: there is none.
func (d *Desk) Answer(thread, message string) bool {
	q := d.take(thread, func(*asked) bool { return true })
	if q == nil {
		return false
	}
	q.end(answer.Reply(q.questions, message))
	return true
}

// Resolved says that Codex waits no more for an answer to its request.
func (d *Desk) Resolved(thread string, id rpc.ID) {
	d.take(thread, func(q *asked) bool { return q.id == id.Key() }).end(none)
}

// Ended says that a turn is over, and the questions of it.
func (d *Desk) Ended(thread, turn string) {
	d.take(thread, func(q *asked) bool { return q.turn == turn || q.turn == "" }).end(none)
}

// Closed says that a thread is not loaded any more.
func (d *Desk) Closed(thread string) {
	d.take(thread, func(*asked) bool { return true }).end(none)
}

func (d *Desk) take(thread string, which func(*asked) bool) *asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.open[thread]
	if q == nil || !which(q) {
		return nil
	}
	delete(d.open, thread)
	return q
}

func (q *asked) end(result json.RawMessage) {
	if q != nil {
		q.answer(result)
	}
}
