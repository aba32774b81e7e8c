package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// wideEnv is set for tests with many more cases.
const wideEnv = "CODEX_BRIDGE_WIDE"

// modelRounds is how often TestQuestions runs -rapid.checks sequences, by default 100: in the wide form 10,000.
const (
	modelRounds     = 3
	wideModelRounds = 100
)

// event is one event of a sequence. Its numbers choose among what is possible then.
type event struct {
	Kind                 string
	Client, Thread, Pick int
}

// eventKinds are the kinds of events. Those that occur more often make questions and answer them.
var eventKinds = []string{
	"connect", "disconnect", "disconnect", "kill", "resume", "resume", "resume", "unsubscribe", "turn", "turn", "turn",
	"ask", "ask", "ask", "hook", "hook", "hook", "accept", "accept", "accept", "decline", "error", "guess",
	"interrupt", "complete", "wait", "expire",
}

func drawEvent(t *rapid.T) event {
	return event{
		rapid.SampledFrom(eventKinds).Draw(t, "kind"), rapid.SampledFrom([]int{0, 0, 0, 1, 1, 1, 2, 3}).Draw(t, "client"),
		rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "thread"), rapid.IntRange(0, 3).Draw(t, "pick"),
	}
}

// setup is how a sequence begins.
type setup struct {
	Any     bool   // serve.answer
	Enforce bool   // questions of Codex have a limit
	Knows   []bool // by client: it knows the bridge
	Silent  []bool // by client: it answers nothing for a person
}

// After any sequence of events of two to four clients of one Codex: no question stays open without a client that
// may answer it, no call runs without an answer that counts, and each client that has seen a question hears once
// that it is resolved. A client that can't answer gets no question that looks as if it could.
func TestQuestions(t *testing.T) {
	t.Parallel()
	rounds := modelRounds
	if os.Getenv(wideEnv) != "" {
		rounds = wideModelRounds
	}
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				start := setup{
					Any: rapid.Bool().Draw(rt, "any"), Enforce: rapid.Bool().Draw(rt, "enforce"),
					Knows:  rapid.SliceOfN(rapid.Bool(), 4, 4).Draw(rt, "knows"),
					Silent: rapid.SliceOfN(rapid.SampledFrom([]bool{false, false, false, true}), 4, 4).Draw(rt, "silent"),
				}
				events := rapid.SliceOfN(rapid.Custom(drawEvent), 4, 40).Draw(rt, "events")
				var fault string
				synctest.Test(t, func(t *testing.T) { fault = play(t, start, events) }) // no draws in there: they panic
				if fault != "" {
					rt.Fatal(fault)
				}
			})
		})
	}
}

// A client without a person has a question, leaves the thread, and comes back when another client answers: it hears
// the end of the question once, when it leaves.
func TestEndOfQuestionOnce(t *testing.T) {
	t.Parallel()
	start := setup{Any: true, Enforce: true, Knows: make([]bool, 4), Silent: []bool{true, true, false, false}}
	events := []event{{Kind: "ask"}, {Kind: "resume", Client: 2}, {Kind: "unsubscribe", Client: 1}, {Kind: "resume", Client: 1}}
	synctest.Test(t, func(t *testing.T) {
		if fault := play(t, start, events); fault != "" {
			t.Error(fault)
		}
	})
}

// play plays the events and returns what is wrong, or "".
func play(t *testing.T, start setup, events []event) string {
	w := newModelWorld(t, start)
	defer w.end()
	for _, c := range w.editors[:2] {
		w.connect(c)
		c.request("thread/resume", "thread 0", "")
	}
	synctest.Wait()
	w.editors[0].request("turn/start", "thread 0", "")
	synctest.Wait()
	for i, e := range events {
		w.apply(e)
		synctest.Wait()
		if fault := w.check(); fault != "" {
			return fmt.Sprintf("after event %d, %+v: %s\n%s", i, e, fault, strings.Join(w.codex.story, "\n"))
		}
	}
	time.Sleep(4 * modelTimeout)
	synctest.Wait()
	if fault := w.checkEnd(); fault != "" {
		return fmt.Sprintf("at the end: %s\n%s", fault, strings.Join(w.codex.story, "\n"))
	}
	return ""
}

// apply applies an event, if it is possible.
func (w *modelWorld) apply(e event) {
	c, thread := w.editors[e.Client], fmt.Sprint("thread ", e.Thread)
	w.mu.Lock()
	w.codex.note("%s: editor %d, %s, %d", e.Kind, e.Client, thread, e.Pick)
	w.mu.Unlock()
	switch e.Kind {
	case "connect":
		if c.conn == nil {
			w.connect(c)
		}
	case "disconnect":
		c.disconnect()
	case "kill":
		c.kill()
	case "resume":
		if c.conn == nil {
			w.connect(c)
		}
		c.request("thread/resume", thread, "")
	case "unsubscribe":
		c.request("thread/unsubscribe", thread, "")
	case "turn":
		c.request("thread/resume", thread, "")
		synctest.Wait()
		c.request("turn/start", thread, "")
	case "interrupt":
		c.request("turn/interrupt", thread, w.codex.running[thread])
	case "ask":
		w.codex.ask(thread)
	case "hook":
		w.hook(thread)
	case "complete":
		w.codex.complete(thread)
	case "accept", "decline", "error":
		c.answer(e.Kind, e.Pick)
	case "guess":
		c.guess(w.codex.lastQuestion())
	case "wait":
		time.Sleep(time.Second + time.Duration(e.Pick)*modelTimeout/5)
	case "expire":
		time.Sleep(modelTimeout + time.Second)
	}
}

// check returns what is wrong while clients come and go.
func (w *modelWorld) check() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.codex.questions {
		limit := 2 * time.Second
		if w.start.Any {
			limit += modelTimeout
		}
		switch {
		case q.outcome == "accept" && !q.wasAccepted:
			return fmt.Sprintf("question %s was accepted, and no client that may answer has accepted it", q.id)
		case q.open && w.checkAsked(q.command, q.thread, q.turn) != "":
			return w.checkAsked(q.command, q.thread, q.turn)
		case !q.open || !q.delivered || len(w.answerable(q.thread, q.turn)) > 0:
			q.orphaned = time.Time{}
		case q.orphaned.IsZero():
			q.orphaned = time.Now()
		case time.Since(q.orphaned) > limit:
			return fmt.Sprintf("question %s is open, and no client may answer it", q.id)
		}
	}
	for _, h := range w.hooks {
		if h.allowed && !h.wasAccepted {
			return fmt.Sprintf("%s was allowed, and no client that may answer has accepted it", h.id)
		}
		if fault := w.checkAsked(h.id, h.thread, h.turn); fault != "" && !h.ended {
			return fault
		}
	}
	for _, c := range w.editors {
		if c.fault != "" {
			return c.fault
		}
	}
	return ""
}

// checkAsked returns which client that may answer an open question has not got it.
func (w *modelWorld) checkAsked(command, thread, turn string) string {
	for _, c := range w.answerable(thread, turn) {
		if !w.start.Silent[c.index] && !c.hasOpen(command, true) {
			return fmt.Sprintf("editor %d may answer and has no question about %s", c.index, command)
		}
	}
	for _, c := range w.editors {
		if c.conn != nil && !slices.Contains(w.answerable(thread, turn), c) && c.hasUnmarked(command) {
			return fmt.Sprintf("editor %d has a question about %s, which it can't answer any more", c.index, command)
		}
	}
	return ""
}

// checkEnd returns what is wrong after more time than any question may wait.
func (w *modelWorld) checkEnd() string {
	if fault := w.check(); fault != "" {
		return fault
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.codex.questions {
		if q.open && q.delivered && (w.start.Enforce || len(w.answerable(q.thread, q.turn)) == 0) {
			return fmt.Sprintf("question %s is still open", q.id)
		}
	}
	for _, h := range w.hooks {
		if !h.ended {
			return fmt.Sprintf("%s still waits", h.id)
		}
	}
	for _, c := range w.editors {
		for id, one := range c.cards {
			if c.conn != nil && one.resolved == 0 && !one.refused && !w.codex.isOpen(id) {
				return fmt.Sprintf("editor %d was not told that %s is resolved", c.index, id)
			}
		}
	}
	return ""
}

// answerable returns the editors whose answer about a turn counts. The lock must be held.
func (w *modelWorld) answerable(thread, turn string) (all []*modelEditor) {
	for _, c := range w.editors {
		if c.conn != nil && w.codex.isSubscribed(c.conn, thread) && (w.start.Any || w.codex.began[turn] == c.conn) {
			all = append(all, c)
		}
	}
	return all
}

// card is a question in an editor.
type card struct {
	command        string
	seen, resolved int
	answered       bool
	refused        bool // by an error, which is no answer
	marked         bool // only another client may answer
}

// receive handles a line that an editor gets.
func (c *modelEditor) receive(line string) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			ThreadID, TurnID, Command string
			RequestID                 json.RawMessage
			Bridge                    struct{ AnsweredBy string }
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		c.fail("a line can't be read: %s", line)
		return
	}
	switch {
	case m.Method == commandApproval:
		one := c.cards[string(m.ID)]
		if one == nil || one.resolved > 0 {
			one = &card{command: m.Params.Command}
			c.cards[string(m.ID)] = one
			c.order = append(c.order, string(m.ID))
		}
		one.seen, one.answered, one.refused, one.marked = one.seen+1, false, false, m.Params.Bridge.AnsweredBy != ""
		if may := slices.Contains(c.world.answerable(m.Params.ThreadID, m.Params.TurnID), c); !may && !one.marked && c.conn != nil {
			c.fail("editor %d gets question %s, which it can't answer", c.index, m.ID)
		}
		if others := c.world.answerable(m.Params.ThreadID, m.Params.TurnID); c.world.start.Any && c.world.start.Silent[c.index] &&
			slices.ContainsFunc(others, func(one *modelEditor) bool { return !c.world.start.Silent[one.index] }) {
			c.fail("editor %d, which answers nothing, gets question %s", c.index, m.ID)
		}
	case m.Method == "serverRequest/resolved":
		if one := c.cards[string(m.Params.RequestID)]; one != nil {
			if one.resolved++; one.resolved > one.seen {
				c.fail("editor %d hears %d times that %s is resolved", c.index, one.resolved, m.Params.RequestID)
			}
		}
	}
}

// answer answers an open question.
func (c *modelEditor) answer(kind string, pick int) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	var open []string
	for _, id := range c.order {
		if one := c.cards[id]; one.resolved == 0 && !one.answered && !slices.Contains(open, id) {
			open = append(open, id)
		}
	}
	if c.conn == nil || len(open) == 0 {
		return
	}
	id := open[pick%len(open)]
	one := c.cards[id]
	one.answered, one.refused = true, kind == "error"
	if kind == "accept" && !one.marked {
		c.world.accepted(c, one.command)
	}
	c.send(answerLine(id, kind))
}

// hasOpen reports whether the editor has an open question about a command. answered reports whether one with its
// answer or error counts.
func (c *modelEditor) hasOpen(command string, answered bool) bool {
	for _, one := range c.cards {
		if one.command == command && (one.resolved < one.seen || one.refused) && (answered || !one.answered) {
			return true
		}
	}
	return false
}

// hasUnmarked reports whether the editor offers to answer an open question about a command.
func (c *modelEditor) hasUnmarked(command string) bool {
	for _, one := range c.cards {
		if one.command == command && one.resolved == 0 && !one.marked && !one.answered {
			return true
		}
	}
	return false
}

func answerLine(id, kind string) string {
	if kind == "error" {
		return `{"id":` + id + `,"error":{"code":-32601,"message":"unknown method"}}`
	}
	return `{"id":` + id + `,"result":{"decision":"` + kind + `"}}`
}

// guess accepts a question that this editor may not have got.
func (c *modelEditor) guess(id string) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.conn == nil || id == "" {
		return
	}
	if one := c.cards[id]; one != nil && !one.marked {
		c.world.accepted(c, one.command)
		one.answered = true
	}
	c.send(answerLine(id, "accept"))
}

// accepted records that an editor has accepted a call, if its answer counts. The lock must be held.
func (w *modelWorld) accepted(c *modelEditor, command string) {
	for _, q := range w.codex.questions {
		if q.command == command && q.open && slices.Contains(w.answerable(q.thread, q.turn), c) {
			q.wasAccepted = true
		}
	}
	for _, h := range w.hooks {
		if h.id == command && !h.ended && slices.Contains(w.answerable(h.thread, h.turn), c) {
			h.wasAccepted = true
		}
	}
}

const commandApproval = "item/commandExecution/requestApproval"

// modelHook is a tool call about which the bridge asks.
type modelHook struct {
	id, thread, turn            string
	wasAccepted, allowed, ended bool
	cancel                      context.CancelFunc
}
