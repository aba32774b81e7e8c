package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge/rpc"
)

// TestInterleavings plays random conversations in fake time: a client, Codex and two features
// do what they do at random times, and Codex ends in the middle of every fourth conversation.
// Each conversation must keep four laws:
//
//   - No answer of the client reaches Codex that one of the features has not judged, and each
//     question gets one answer.
//   - A message waits only for those before it in its thread (or, without one, for those
//     without), and keeps its order to them.
//   - Each request gets one response.
//   - Each feature is called once with each response of Codex.
func TestInterleavings(t *testing.T) {
	n := uint64(300)
	if os.Getenv("CODEX_BRIDGE_WIDE") != "" {
		n = 100_000
	}
	for seed := range n {
		synctest.Test(t, func(t *testing.T) { newInterleaving(t, seed).play() })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// interleaving is one random conversation.
type interleaving struct {
	t         *testing.T
	random    *rand.Rand // of the script, which is made before anything runs
	peer      *Conn
	requests  []*scriptedRequest
	questions []*scriptedQuestion
	toBridge  *queue        // Codex's output
	ends      time.Duration // when Codex ends; 0: with the conversation

	mu        sync.Mutex
	over      bool           // Codex has ended
	answered  []int          // the requests that Codex has answered
	heard     map[string]int // calls of OnAnswer, by feature and request
	arrived   []int          // the requests at Codex, in their order
	at        map[int]time.Time
	responses map[string]int
	answers   map[int][]string // to Codex's questions
}

// scriptedRequest is a request of the client. Its handler waits.
type scriptedRequest struct {
	at               time.Duration
	method           string
	thread           string
	waits            time.Duration
	asks             bool          // it waits for an answer of Codex
	never            bool          // Codex never answers it
	earliest, latest time.Duration // it can reach Codex, but for the time of handing over
}

// scriptedQuestion is a question of Codex.
type scriptedQuestion struct {
	at      time.Duration
	routing time.Duration   // how long the features look at it
	early   []time.Duration // when the client answers it unasked
	either  bool            // the bridge may answer it, too
	replies time.Duration   // when, behind the features' first look
	answers time.Duration   // when the client does, behind the question
}

const handedOverBy = 200 * time.Millisecond // more than all handovers of a conversation together

func newInterleaving(t *testing.T, seed uint64) *interleaving {
	i := &interleaving{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), at: make(map[int]time.Time),
		responses: make(map[string]int), answers: make(map[int][]string), heard: make(map[string]int),
	}
	at := time.Duration(0)
	last := map[string]time.Duration{} // by lane: when its last message is handled
	for range 5 + i.random.IntN(25) {
		at += i.pick(0, 0, 0, time.Millisecond, 300*time.Millisecond, time.Second)
		r := &scriptedRequest{at: at, waits: i.pick(0, 0, time.Second, 2*time.Second), asks: i.random.IntN(2) == 0, never: i.random.IntN(10) == 0}
		switch i.random.IntN(6) {
		case 0:
			r.method = "model/list"
		case 1:
			r.method = "thread/start"
		case 2:
			r.method, r.thread, r.waits = "turn/interrupt", i.anyThread(), 0
		default:
			r.method, r.thread = "turn/start", i.anyThread()
		}
		start := at
		if r.method != "turn/interrupt" {
			start = max(at, last[r.thread])
		}
		r.earliest, r.latest = start+r.waits, start+r.waits+handedOverBy
		if r.method != "turn/interrupt" && r.method != "thread/start" {
			last[r.thread] = r.earliest
		}
		i.requests = append(i.requests, r)
	}
	for range i.random.IntN(6) {
		at := i.moment()
		q := &scriptedQuestion{
			at: at, routing: i.pick(0, 0, time.Millisecond), either: i.random.IntN(2) == 0,
			replies: i.pick(0, 0, time.Millisecond, 2*time.Millisecond, 10*time.Millisecond, time.Hour), answers: i.pick(0, 0, time.Millisecond, 5*time.Millisecond),
		}
		for range i.random.IntN(4) {
			q.early = append(q.early, at+i.pick(-time.Millisecond, 0, 0, 500*time.Microsecond, time.Millisecond, 2*time.Millisecond))
		}
		i.questions = append(i.questions, q)
	}
	if i.random.IntN(4) == 0 {
		i.ends = i.moment()
	}
	return i
}

func (i *interleaving) pick(of ...time.Duration) time.Duration { return of[i.random.IntN(len(of))] }
func (i *interleaving) moment() time.Duration {
	return time.Duration(1+i.random.IntN(9000)) * time.Millisecond
}
func (i *interleaving) anyThread() string { return fmt.Sprint("t", i.random.IntN(3)) }

func (i *interleaving) Attach(p *Conn) { i.peer = p }

// Routes implements Feature.
func (i *interleaving) Routes() []Route {
	return []Route{
		{From: Client, Method: Other, HandleClient: i.handle},
		{From: Client, Method: Unsolicited, HandleClient: func(context.Context, *ClientMessage) *rpc.Error { return rpc.Errorf(rpc.CodeRefused, "unasked") }},
		{From: Codex, Method: "ask", HandleServer: func(_ context.Context, said *ServerMessage) {
			n := number(said.Root().Get("params").Get("n"))
			q := i.questions[n]
			if !q.either {
				return
			}
			held := said.Share()
			go func() { // ends when it has replied
				time.Sleep(q.replies)
				held.Reply([]byte(`{"by":"the bridge"}`))
			}()
		}},
	}
}

// judge is a feature that holds answers to a policy. It looks at a question after the
// interleaving, and puts its name behind what the features before it have left.
type judge struct {
	i    *interleaving
	name string
}

func (j judge) Routes() []Route {
	return []Route{
		{From: Client, Method: Other, HandleClient: func(_ context.Context, call *ClientMessage) *rpc.Error {
			if call.Kind == rpc.Request {
				j.i.hears(call, j.name)
			}
			return nil
		}},
		{From: Codex, Method: "ask", HandleServer: func(_ context.Context, said *ServerMessage) {
			time.Sleep(j.i.questions[number(said.Root().Get("params").Get("n"))].routing)
			said.OnResponse(func(r *ClientResponse) {
				m, err := rpc.ParseMessage(r.Line)
				if err != nil {
					j.i.t.Error(err)
					return
				}
				by, _ := m.Result.Get("by").Text()
				raw, _ := json.Marshal(map[string]string{"by": by + j.name})
				r.Line = append(rpc.EncodeResult(r.ID, raw), '\n')
			})
		}},
	}
}

// hears counts the responses that a feature is called with.
func (i *interleaving) hears(call *ClientMessage, feature string) {
	name := fmt.Sprint(feature, number(call.Params.Get("n")))
	call.OnResponse(func(a *ServerResponse) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if a.Envelope != nil {
			i.heard[name]++
		}
	})
}

// judged is behind an answer that both judges have seen.
const judged = ", judged once, judged twice"

func number(v rpc.Value) (n int) {
	if json.Unmarshal(v.Raw(), &n) != nil {
		return -1
	}
	return n
}

// handle keeps a message of the client for as long as it says.
func (i *interleaving) handle(ctx context.Context, call *ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request {
		return nil
	}
	r := i.requests[number(call.Params.Get("n"))]
	if !r.asks || r.waits == 0 {
		time.Sleep(r.waits)
	} else if _, err := i.peer.Call(ctx, "own/ask", map[string]int64{"waits": int64(r.waits)}); err != nil {
		return rpc.Errorf(rpc.CodeUpstream, "%v", err)
	}
	i.hears(call, "")
	return nil
}

// queue is a pipe that holds all that a conversation says. Who writes to it does not wait,
// which in fake time would be for ever where two write.
type queue struct {
	parts chan []byte
	rest  []byte
}

func newQueue() (r, w *queue) {
	q := &queue{parts: make(chan []byte, 4096)}
	return q, q
}

func (q *queue) Write(b []byte) (int, error) {
	q.parts <- bytes.Clone(b)
	return len(b), nil
}

func (q *queue) Read(b []byte) (int, error) {
	for len(q.rest) == 0 {
		part, ok := <-q.parts
		if !ok {
			return 0, io.EOF
		}
		q.rest = part
	}
	n := copy(b, q.rest)
	q.rest = q.rest[n:]
	return n, nil
}

func (q *queue) Close() { close(q.parts) }

// play plays the conversation and checks it.
func (i *interleaving) play() {
	in, client := newQueue()
	fromBridge, out := newQueue()
	codexIn, stdin := newQueue()
	stdout, codexOut := newQueue()
	i.toBridge = codexOut
	p, err := NewProxy(Options{
		In: in, Out: out, Features: []Feature{i, judge{i, ", judged once"}, judge{i, ", judged twice"}}, AnswerAll: func() bool { return true },
		Urgent: []string{"turn/interrupt"}, MaxMessage: 1 << 20, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		i.t.Fatal(err)
	}
	gone := make(chan struct{})
	p.codexOut, p.clientOut, p.stdin, p.codexDone = stdout, out, stdin, gone
	var both sync.WaitGroup
	both.Go(func() { p.fromClient(i.t.Context()) })
	both.Go(func() { p.fromCodex(i.t.Context()) })
	var sides sync.WaitGroup
	sides.Go(func() { i.client(client, fromBridge) })
	sides.Go(func() { i.codex(codexIn) })
	start := time.Now()
	ends := func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if !i.over {
			i.over = true
			codexOut.Close()
			close(gone)
			go p.state.stopTimeouts()
		}
	}
	if i.ends > 0 {
		sides.Go(func() {
			time.Sleep(i.ends)
			ends()
		})
	}
	for n, r := range i.requests {
		time.Sleep(time.Until(start.Add(r.at)))
		if i.ends > 0 && r.at >= i.ends { // the bridge would have ended, too
			break
		}
		i.write(client, fmt.Sprintf(`{"id":%d,"method":%q,"params":{"n":%d,"threadId":%s}}`, n, r.method, n, orNull(r.thread)))
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	client.Close() // the client leaves, and Codex ends
	ends()
	both.Wait()
	p.state.stopTimeouts()
	p.failPending()
	p.state.toClient.awaitIdle()
	out.Close()
	stdin.Close()
	sides.Wait()
	time.Sleep(2 * time.Hour) // until the last goroutine of the features has ended
	i.check(start)
}

func orNull(thread string) string {
	if thread == "" {
		return "null"
	}
	return `"` + thread + `"`
}

// write writes a line of the client.
func (i *interleaving) write(w io.Writer, line string) {
	if _, err := io.WriteString(w, line+"\n"); err != nil {
		i.t.Error(err)
	}
}

// client reads what the client gets, and answers questions. The answers that it gives
// unasked are written beside.
func (i *interleaving) client(w io.Writer, r io.Reader) {
	var answering sync.WaitGroup
	defer answering.Wait()
	for n, q := range i.questions {
		for _, at := range q.early {
			answering.Go(func() {
				time.Sleep(at)
				i.write(w, fmt.Sprintf(`{"id":"q%d","result":{"by":"the client, early"}}`, n))
			})
		}
	}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		e, err := rpc.ParseEnvelope(lines.Bytes())
		if err != nil {
			i.t.Errorf("the client gets %s", lines.Bytes())
			continue
		}
		if e.Method == "" {
			i.mu.Lock()
			i.responses[string(e.ID.Raw())]++
			i.mu.Unlock()
			continue
		}
		n := number(e.Root().Get("params").Get("n"))
		answering.Go(func() {
			time.Sleep(i.questions[n].answers)
			i.write(w, fmt.Sprintf(`{"id":"q%d","result":{"by":"the client"}}`, n))
		})
	}
}

// codex reads what Codex gets, answers requests and asks its questions.
func (i *interleaving) codex(r io.Reader) {
	var asking sync.WaitGroup
	defer asking.Wait()
	says := func(format string, args ...any) bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		if !i.over {
			i.write(i.toBridge, fmt.Sprintf(format, args...))
		}
		return !i.over
	}
	for n, q := range i.questions {
		asking.Go(func() {
			time.Sleep(q.at)
			says(`{"method":"ask","id":"q%d","params":{"n":%d}}`, n, n)
		})
	}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		e, err := rpc.ParseEnvelope(lines.Bytes())
		if err != nil {
			i.t.Errorf("codex gets %s", lines.Bytes())
			continue
		}
		id := string(e.ID.Raw())
		params := e.Root().Get("params")
		i.mu.Lock()
		over := i.over
		i.mu.Unlock()
		if over {
			continue // nobody reads it
		}
		switch {
		case e.Method == "own/ask":
			waits := time.Duration(number(params.Get("waits")))
			asking.Go(func() {
				time.Sleep(waits)
				says(`{"id":%s,"result":{}}`, id)
			})
		case e.Method == "":
			n := -1
			if _, err := fmt.Sscanf(strings.Trim(id, `"`), "q%d", &n); err != nil {
				i.t.Errorf("codex gets %s", lines.Bytes())
				continue
			}
			by, _ := e.Root().Get("result").Get("by").Text()
			i.answers[n] = append(i.answers[n], by)
		default:
			n := number(params.Get("n"))
			i.arrived = append(i.arrived, n)
			i.at[n] = time.Now()
			if !i.requests[n].never {
				asking.Go(func() {
					if says(`{"id":%s,"result":{}}`, id) {
						i.mu.Lock()
						defer i.mu.Unlock()
						i.answered = append(i.answered, n)
					}
				})
			}
		}
	}
}

// check holds what has come about to the laws.
func (i *interleaving) check(start time.Time) {
	for n := range i.questions {
		answers := i.answers[n]
		// The bridge reads nothing of Codex before the client has sent something.
		if at := max(i.questions[n].at, i.requests[0].at); len(answers) == 0 && i.ends > 0 && at+handedOverBy > i.ends {
			continue
		}
		if len(answers) != 1 || answers[0] != "the bridge" && !strings.HasSuffix(answers[0], judged) {
			i.t.Errorf("question %d is answered by %q", n, answers)
		}
	}
	last := map[string]int{}
	for _, n := range i.arrived {
		r := i.requests[n]
		if r.method == "turn/start" {
			if before, ok := last[r.thread]; ok && before > n {
				i.t.Errorf("request %d reaches codex behind %d of its thread", before, n)
			}
			last[r.thread] = n
		}
	}
	for _, n := range i.answered {
		for _, feature := range []string{"", ", judged once", ", judged twice"} {
			if got := i.heard[fmt.Sprint(feature, n)]; got != 1 {
				i.t.Errorf("the feature %q is called %d times with the response to %d", feature, got, n)
			}
		}
	}
	for n, r := range i.requests {
		if i.ends > 0 && r.at >= i.ends {
			break // it was not sent
		}
		if got := i.responses[fmt.Sprint(n)]; got != 1 {
			i.t.Errorf("request %d gets %d responses", n, got)
		}
		if i.ends > 0 && r.latest >= i.ends {
			continue // it may not reach codex
		}
		at, ok := i.at[n]
		if took := at.Sub(start); !ok || took < r.earliest-handedOverBy || took > r.latest {
			i.t.Errorf("request %d (%s %s, at %v, waits %v) reaches codex: %t, at %v; it could at %v", n, r.method, r.thread, r.at, r.waits, ok, took, r.earliest)
		}
	}
}
