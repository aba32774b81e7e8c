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

	"codex-bridge.example/rpc"
)

// TestInterleavings plays random conversations in fake time. A client, Codex and two features act
// at random times, and Codex ends in the middle of every fourth conversation. Each
// conversation must keep four laws:
//
//   - Both features see each response of the client before Codex gets it, and each request of
//     Codex gets one response.
//   - A message waits only for those before it in its thread (or, without one, for those
//     without), and keeps its order with them.
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
	random    *rand.Rand // for the script, which is made before the start
	conn      *Conn
	requests  []*scriptedRequest
	questions []*scriptedServerRequest
	toBridge  *queue        // Codex's output
	endsAt    time.Duration // when Codex ends; 0: after the conversation

	mu           sync.Mutex
	ended        bool           // Codex has ended
	answered     []int          // requests that Codex has answered
	handlerCalls map[string]int // calls of OnResponse, by feature and request
	arrived      []int          // requests received by Codex, in order
	at           map[int]time.Time
	responses    map[string]int
	answers      map[int][]string // to Codex's requests
}

// scriptedRequest is a request of the client. Its handler waits.
type scriptedRequest struct {
	at               time.Duration
	method           string
	thread           string
	waits            time.Duration
	waitsForCodex    bool          // the handler waits for a response of Codex
	unanswered       bool          // Codex never answers it
	earliest, latest time.Duration // when it can reach Codex, without handovers
}

// scriptedServerRequest is a request of Codex.
type scriptedServerRequest struct {
	at             time.Duration
	routing        time.Duration   // duration of the handlers
	unsolicited    []time.Duration // responses of the client at these times
	shared         bool            // the bridge may answer it, too
	featureAnswers time.Duration   // when, after the handlers
	clientAnswers  time.Duration   // when, after the request
}

const maxHandover = 200 * time.Millisecond // more than all handovers of a conversation take

func newInterleaving(t *testing.T, seed uint64) *interleaving {
	i := &interleaving{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), at: make(map[int]time.Time),
		responses: make(map[string]int), answers: make(map[int][]string), handlerCalls: make(map[string]int),
	}
	at := time.Duration(0)
	last := map[string]time.Duration{} // by lane: end of its last message
	for range 5 + i.random.IntN(25) {
		at += i.pick(0, 0, 0, time.Millisecond, 300*time.Millisecond, time.Second)
		r := &scriptedRequest{at: at, waits: i.pick(0, 0, time.Second, 2*time.Second), waitsForCodex: i.random.IntN(2) == 0, unanswered: i.random.IntN(10) == 0}
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
		r.earliest, r.latest = start+r.waits, start+r.waits+maxHandover
		if r.method != "turn/interrupt" && r.method != "thread/start" {
			last[r.thread] = r.earliest
		}
		i.requests = append(i.requests, r)
	}
	for range i.random.IntN(6) {
		at := i.moment()
		q := &scriptedServerRequest{
			at: at, routing: i.pick(0, 0, time.Millisecond), shared: i.random.IntN(2) == 0,
			featureAnswers: i.pick(0, 0, time.Millisecond, 2*time.Millisecond, 10*time.Millisecond, time.Hour), clientAnswers: i.pick(0, 0, time.Millisecond, 5*time.Millisecond),
		}
		for range i.random.IntN(4) {
			q.unsolicited = append(q.unsolicited, at+i.pick(-time.Millisecond, 0, 0, 500*time.Microsecond, time.Millisecond, 2*time.Millisecond))
		}
		i.questions = append(i.questions, q)
	}
	if i.random.IntN(4) == 0 {
		i.endsAt = i.moment()
	}
	return i
}

func (i *interleaving) pick(of ...time.Duration) time.Duration { return of[i.random.IntN(len(of))] }
func (i *interleaving) moment() time.Duration {
	return time.Duration(1+i.random.IntN(9000)) * time.Millisecond
}
func (i *interleaving) anyThread() string { return fmt.Sprint("t", i.random.IntN(3)) }

func (i *interleaving) Attach(p *Conn) { i.conn = p }

// Routes implements Feature.
func (i *interleaving) Routes() []Route {
	return []Route{
		{From: Client, Method: Other, HandleClient: i.handle},
		{From: Client, Method: Unsolicited, HandleClient: func(context.Context, *ClientMessage) *rpc.Error { return rpc.Errorf(rpc.CodeRefused, "unasked") }},
		{From: Codex, Method: "ask", HandleServer: func(_ context.Context, msg *ServerMessage) {
			n := number(msg.Root().Get("params").Get("n"))
			q := i.questions[n]
			if !q.shared {
				return
			}
			held := msg.Share()
			go func() { // ends after its answer
				time.Sleep(q.featureAnswers)
				held.Reply([]byte(`{"by":"the bridge"}`))
			}()
		}},
	}
}

func (*interleaving) Stage() Stage { return BeforeGuard }

// judge is a feature that checks responses. It runs after the interleaving, and appends its
// name to the line.
type judge struct {
	i    *interleaving
	name string
}

func (j judge) Routes() []Route {
	return []Route{
		{From: Client, Method: Other, HandleClient: func(_ context.Context, call *ClientMessage) *rpc.Error {
			if call.Kind == rpc.Request {
				j.i.countResponse(call, j.name)
			}
			return nil
		}},
		{From: Codex, Method: "ask", HandleServer: func(_ context.Context, msg *ServerMessage) {
			time.Sleep(j.i.questions[number(msg.Root().Get("params").Get("n"))].routing)
			msg.OnResponse(func(r *ClientResponse) {
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

func (judge) Stage() Stage { return BeforeGuard }

// countResponse counts the responses that a feature is called with.
func (i *interleaving) countResponse(call *ClientMessage, feature string) {
	name := fmt.Sprint(feature, number(call.Params.Get("n")))
	call.OnResponse(func(a *ServerResponse) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if a.Envelope != nil {
			i.handlerCalls[name]++
		}
	})
}

// judged is the suffix of a response that both judges have seen.
const judged = ", judged once, judged twice"

func number(v rpc.Value) (n int) {
	if json.Unmarshal(v.Raw(), &n) != nil {
		return -1
	}
	return n
}

// handle keeps a message of the client for the scripted time.
func (i *interleaving) handle(ctx context.Context, call *ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request {
		return nil
	}
	r := i.requests[number(call.Params.Get("n"))]
	if !r.waitsForCodex || r.waits == 0 {
		time.Sleep(r.waits)
	} else if _, err := i.conn.Call(ctx, "own/ask", map[string]int64{"waits": int64(r.waits)}); err != nil {
		return rpc.Errorf(rpc.CodeUpstream, "%v", err)
	}
	i.countResponse(call, "")
	return nil
}

// queue is a pipe with an unlimited buffer. A blocking pipe would deadlock in fake time when two
// goroutines write.
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
	p.codexOut, p.clientOut, p.codexIn, p.codexDone = stdout, out, stdin, gone
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
		if !i.ended {
			i.ended = true
			codexOut.Close()
			close(gone)
			go p.state.stopTimeouts()
		}
	}
	if i.endsAt > 0 {
		sides.Go(func() {
			time.Sleep(i.endsAt)
			ends()
		})
	}
	for n, r := range i.requests {
		time.Sleep(time.Until(start.Add(r.at)))
		if i.endsAt > 0 && r.at >= i.endsAt { // the bridge would have ended, too
			break
		}
		i.write(client, fmt.Sprintf(`{"id":%d,"method":%q,"params":{"n":%d,"threadId":%s}}`, n, r.method, n, orNull(r.thread)))
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	client.Close() // then Codex ends, too
	ends()
	both.Wait()
	p.state.stopTimeouts()
	p.failPending()
	p.state.toClient.awaitIdle()
	out.Close()
	stdin.Close()
	sides.Wait()
	time.Sleep(2 * time.Hour) // until all goroutines of the features have ended
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

// client reads the client's lines and answers requests. Unsolicited responses are written by
// another goroutine.
func (i *interleaving) client(w io.Writer, r io.Reader) {
	var answering sync.WaitGroup
	defer answering.Wait()
	for n, q := range i.questions {
		for _, at := range q.unsolicited {
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
			time.Sleep(i.questions[n].clientAnswers)
			i.write(w, fmt.Sprintf(`{"id":"q%d","result":{"by":"the client"}}`, n))
		})
	}
}

// codex reads Codex's lines, answers requests and sends its own.
func (i *interleaving) codex(r io.Reader) {
	var asking sync.WaitGroup
	defer asking.Wait()
	says := func(format string, args ...any) bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		if !i.ended {
			i.write(i.toBridge, fmt.Sprintf(format, args...))
		}
		return !i.ended
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
		over := i.ended
		i.mu.Unlock()
		if over {
			continue // the bridge has ended
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
			if !i.requests[n].unanswered {
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

// check checks the laws.
func (i *interleaving) check(start time.Time) {
	for n := range i.questions {
		answers := i.answers[n]
		// The bridge does not read Codex before the client has sent something.
		if at := max(i.questions[n].at, i.requests[0].at); len(answers) == 0 && i.endsAt > 0 && at+maxHandover > i.endsAt {
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
			if got := i.handlerCalls[fmt.Sprint(feature, n)]; got != 1 {
				i.t.Errorf("the feature %q is called %d times with the response to %d", feature, got, n)
			}
		}
	}
	for n, r := range i.requests {
		if i.endsAt > 0 && r.at >= i.endsAt {
			break // it was not sent
		}
		if got := i.responses[fmt.Sprint(n)]; got != 1 {
			i.t.Errorf("request %d gets %d responses", n, got)
		}
		if i.endsAt > 0 && r.latest >= i.endsAt {
			continue // it may not reach codex
		}
		at, ok := i.at[n]
		if took := at.Sub(start); !ok || took < r.earliest-maxHandover || took > r.latest {
			i.t.Errorf("request %d (%s %s, at %v, waits %v) reaches codex: %t, at %v; it could at %v", n, r.method, r.thread, r.at, r.waits, ok, took, r.earliest)
		}
	}
}
