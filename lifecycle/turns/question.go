package turns

import (
	"encoding/json"
	"sync"

	"codex-bridge.example/relay/answer"
	"codex-bridge.example/rpc"
)

// openQuestions holds the unanswered questions of the model, by thread.
type openQuestions struct {
	mu   sync.Mutex
	open map[string]*openQuestion
}

type openQuestion struct {
	id        string // of Codex's request
	turn      string
	questions []answer.Question
	answer    func(result json.RawMessage)
}

func newOpenQuestions() *openQuestions { return &openQuestions{open: make(map[string]*openQuestion)} }

// emptyAnswer closes a question without an answer.
var emptyAnswer = answer.Reply(nil, "")

// ask opens the questions of an item/tool/requestUserInput with params, and returns the lines
// that ask them in a chat. It calls f once, with the result. If there is no question to ask, it
// calls f at once and returns nil. An earlier open question of the thread gets an empty answer.
// f must not block.
func (d *openQuestions) ask(id rpc.ID, params rpc.Value, f func(result json.RawMessage)) (lines []string) {
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	questions := answer.Questions(params)
	if thread == "" || len(questions) == 0 {
		f(emptyAnswer)
		return nil
	}
	d.take(thread, func(*openQuestion) bool { return true }).end(emptyAnswer)
	d.mu.Lock()
	before := d.open[thread] // opened concurrently
	d.open[thread] = &openQuestion{id.Key(), turn, questions, f}
	d.mu.Unlock()
	before.end(emptyAnswer)
	return answer.Prompt(questions)
}

// answer answers the question of a thread with a message. It returns false if there is none.
func (d *openQuestions) answer(thread, message string) bool {
	q := d.take(thread, func(*openQuestion) bool { return true })
	if q == nil {
		return false
	}
	q.end(answer.Reply(q.questions, message))
	return true
}

// resolved closes a question that Codex has resolved.
func (d *openQuestions) resolved(thread string, id rpc.ID) {
	d.take(thread, func(q *openQuestion) bool { return q.id == id.Key() }).end(emptyAnswer)
}

// turnEnded closes the question of a turn that has ended.
func (d *openQuestions) turnEnded(thread, turn string) {
	d.take(thread, func(q *openQuestion) bool { return q.turn == turn || q.turn == "" }).end(emptyAnswer)
}

// threadClosed closes the question of a thread that Codex has unloaded.
func (d *openQuestions) threadClosed(thread string) {
	d.take(thread, func(*openQuestion) bool { return true }).end(emptyAnswer)
}

func (d *openQuestions) take(thread string, which func(*openQuestion) bool) *openQuestion {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.open[thread]
	if q == nil || !which(q) {
		return nil
	}
	delete(d.open, thread)
	return q
}

func (q *openQuestion) end(result json.RawMessage) {
	if q != nil {
		q.answer(result)
	}
}
