package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// Replies to a Codex that does not read are queued in order, without a goroutine each. Beyond
// some thousand the bridge stops reading Codex.
func TestRepliesToStoppedCodex(t *testing.T) {
	const questions = 6000
	no := strings.Repeat("x", 4<<10)
	c := bridgetest.Start(t, feature{{From: bridge.Codex, Method: "ask", HandleServer: func(_ context.Context, s *bridge.ServerMessage) {
		s.Refuse(rpc.Errorf(rpc.CodeRefused, "%s", no))
	}}})
	c.Play("hello", "editor> {\"method\":\"hello\"}\ncodex< {\"method\":\"hello\"}")
	before := runtime.NumGoroutine()
	asked := make(chan struct{})
	go func() { // ends at the latest when all are answered
		defer close(asked)
		for i := range questions {
			c.CodexSends(fmt.Sprintf(`{"method":"ask","id":%d,"params":{}}`, i))
		}
	}()
	awaitBlocked(t, c.CodexReceives())
	if more := runtime.NumGoroutine() - before; more > 10 {
		t.Errorf("%d goroutines more", more)
	}
	for i := range questions {
		if got := <-c.CodexReceives(); !strings.HasSuffix(got, fmt.Sprintf("\"id\":%d}\n", i)) {
			t.Fatalf("answer %d is %.60s…%s", i, got, got[max(0, len(got)-20):])
		}
	}
	<-asked
}

// blockClient stops reading as the client, and fills the queue until notifications are dropped.
func blockClient(t *testing.T, c *bridgetest.Conversation) (lines int) {
	t.Helper()
	const told = 4000
	go func() { // ends with the test
		for range told {
			c.CodexSends(`{"method":"tell","params":{"text":"` + strings.Repeat("x", 4000) + `"}}`)
		}
	}()
	awaitBlocked(t, c.EditorReceives())
	return told
}

// Notify does not wait for a client that does not read. The queued notifications arrive in
// order.
func TestNotifyStoppedClient(t *testing.T) {
	const limit = 1024
	v := &connOnly{}
	c := bridgetest.Start(t, v)
	c.Play("hello", "editor> {\"method\":\"hello\"}\ncodex< {\"method\":\"hello\"}")
	left := blockClient(t, c)
	for i := range limit + 10 {
		v.conn.Notify("own/told", i)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.conn.AskUser(over, "thread", "own/question", nil); err == nil {
		t.Error("a question that nobody has heard is answered")
	}
	next, rest := 0, []string{}
	for left > 0 || len(rest) < 2 {
		line := <-c.EditorReceives()
		switch {
		case strings.HasPrefix(line, `{"method":"tell"`):
			left--
		case strings.Contains(line, `"own/told"`):
			if want := fmt.Sprintf("{\"method\":\"own/told\",\"params\":%d}\n", next); line != want {
				t.Fatalf("got %s where %s should come", line, want)
			}
			next++
		default:
			rest = append(rest, line)
		}
	}
	if next < limit || next > limit+1 { // one may have been in the pipe already
		t.Errorf("%d have come; %d may wait", next, limit)
	}
	// A request and its serverRequest/resolved are never dropped, and come after earlier lines.
	if len(rest) != 2 || !strings.Contains(rest[0], "own/question") || !strings.Contains(rest[1], "serverRequest/resolved") {
		t.Errorf("and then: %s", rest)
	}
}

// CallAsClient ends with its context even if Codex does not read and an earlier message of the
// client is blocked.
func TestCallAsClientEndsWithContext(t *testing.T) {
	deadline := func(t *testing.T, err error) {
		t.Helper()
		if e := (*rpc.Error)(nil); !errors.As(err, &e) || e.Code != rpc.CodeDeadline {
			t.Errorf("the request ends with %v", err)
		}
	}
	v := &connOnly{}
	c := bridgetest.Start(t, v)
	t.Cleanup(func() {
		go func() { // ends with the conversation
			for range c.CodexReceives() {
			}
		}()
	})
	c.Play("hello", "editor> {\"method\":\"hello\"}\ncodex< {\"method\":\"hello\"}")
	for range cap(c.CodexReceives()) + 10 {
		c.EditorSends(`{"method":"tell"}`)
	}
	awaitBlocked(t, c.CodexReceives())
	for range 2 { // the first blocks in the write, the second behind it
		over, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := v.conn.CallAsClient(over, "own/question", map[string]string{"text": strings.Repeat("x", 8<<20)})
		cancel()
		deadline(t, err)
	}
}

// asyncFeature answers a client's request when the test says so, or stops waiting for Codex.
type asyncFeature struct{ now, gaveUp chan struct{} }

func (a asyncFeature) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: "later", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
			id := call.ID.Clone()
			call.HandleAsync(func(_ context.Context, aside *bridge.AsyncRequest) {
				<-a.now
				aside.Reply(rpc.EncodeResult(id, []byte(`{}`)))
			})
			return nil
		}},
		{From: bridge.Client, Method: "impatient", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
			id := call.ID.Clone()
			call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
				over, cancel := context.WithCancel(ctx)
				defer cancel()
				m, err := rpc.ParseMessage(append(rpc.EncodeRequest(id, "asked", nil), '\n'))
				if err == nil {
					go func() { <-a.gaveUp; cancel() }()
					err = aside.Call(over, m, func(*bridge.ServerResponse) {})
				}
				aside.Reply(rpc.EncodeError(id, err))
			})
			return nil
		}},
	}
}

func (asyncFeature) Stage() bridge.Stage { return bridge.BeforeGuard }

// The number of asynchronous requests is limited.
func TestTooManyAsyncRequests(t *testing.T) {
	const limit = 4096
	a := asyncFeature{now: make(chan struct{})}
	c := bridgetest.Start(t, a)
	for i := range limit {
		c.EditorSends(fmt.Sprintf(`{"id":%d,"method":"later"}`, i))
	}
	c.Play("too many", `
editor> {"id":"one more","method":"later"}
editor< {"id":"one more","error":{"code":-32001,"message":"<text>"}}
`)
	close(a.now)
	for range limit {
		if got := <-c.EditorReceives(); !strings.Contains(got, `"result":{}`) {
			t.Fatalf("the editor gets %s", got)
		}
	}
}

// The size of asynchronous requests is limited. Without the limit, each would keep its message
// until it is answered.
func TestTooLargeAsyncRequests(t *testing.T) {
	a := asyncFeature{now: make(chan struct{})}
	c := bridgetest.Start(t, a)
	const sent, fit = 50, 33 // the limit is 17 MiB here
	text := strings.Repeat("x", 1<<19)
	refused := 0
	for i := range sent {
		c.EditorSends(fmt.Sprintf(`{"id":%d,"method":"later","params":{"text":%q}}`, i, text))
	}
	for range sent - fit {
		if got := <-c.EditorReceives(); strings.Contains(got, "-32015") {
			refused++
		}
	}
	close(a.now)
	for range fit {
		if got := <-c.EditorReceives(); !strings.Contains(got, `"result":{}`) {
			t.Fatalf("the editor gets %s", got)
		}
	}
	if refused != sent-fit {
		t.Errorf("%d requests were refused", refused)
	}
}

// If AsyncRequest.Call ends with its context, the feature answers the client. The client does not
// get the late response of Codex.
func TestAsyncCallEndsWithContext(t *testing.T) {
	a := asyncFeature{gaveUp: make(chan struct{})}
	c := bridgetest.Start(t, a)
	c.Play("asked", `
editor> {"id":1,"method":"impatient"}
codex< {"id":1,"method":"asked"}
`)
	close(a.gaveUp)
	c.Play("late", `
editor< {"id":1,"error":{"code":-32012,"message":"<text>"}}
codex> {"id":1,"result":"late"}
codex> {"method":"next"}
editor< {"method":"next"}
`)
}

// A shared request that a feature answers before the client gets it has no timeout any more:
// Codex gets one response.
func TestSharedRequestAnsweredAtOnce(t *testing.T) {
	c := bridgetest.Start(t, feature{{From: bridge.Codex, Method: "ask", HandleServer: func(_ context.Context, msg *bridge.ServerMessage) {
		msg.TimeoutResult(time.Nanosecond, func() []byte { return []byte(`"too late"`) })
		msg.Share().Reply([]byte(`"from here"`))
	}}, {From: bridge.Client, Method: bridge.Unsolicited, HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
		return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
	}}})
	c.Play("once", `
editor> {"method":"hello"}
codex< {"method":"hello"}
codex> {"id":5,"method":"ask","params":{}}
editor< {"id":5,"method":"ask","params":{}}
codex< {"id":5,"result":"from here"}
editor> {"id":5,"result":"mine"}
editor> {"method":"next"}
codex< {"method":"next"}
`)
}
