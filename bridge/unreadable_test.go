package bridge_test

import (
	"context"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// observingRoutes are routes for messages that are examined and forwarded.
func observingRoutes() feature {
	return feature{
		{From: bridge.Client, Method: "watched", HandleClient: func(_ context.Context, c *bridge.ClientMessage) *rpc.Error {
			c.OnResponse(func(*bridge.ServerResponse) {})
			return nil
		}},
		{From: bridge.Codex, Method: "ask", HandleServer: func(context.Context, *bridge.ServerMessage) {}},
		{From: bridge.Codex, Method: "tell", HandleServer: func(context.Context, *bridge.ServerMessage) {}},
	}
}

// If a wanted message of Codex can't be read, its request gets an error.
func TestUnreadableMessageIsAnswered(t *testing.T) {
	v := &connOnly{}
	c := bridgetest.StartAs(t, bridge.Options{AnswerAll: always, Features: []bridge.Feature{observingRoutes(), v}})
	c.Play("unreadable", `
editor> {"id":1,"method":"watched"}
codex< {"id":1,"method":"watched"}
codex> {"id":1,"result":{"a":1,"a":2}}
editor< {"id":1,"error":{"code":-32011,"message":"<text>"}}
codex> {"method":"ask","id":7,"params":{"a":1,"a":2}}
codex< {"id":7,"error":{"code":-32011,"message":"<text>"}}
codex> {"method":"tell","params":{"a":1,"a":2}}
# The id is free again.
editor> {"id":1,"method":"watched"}
codex< {"id":1,"method":"watched"}
codex> {"id":1,"result":{}}
editor< {"id":1,"result":{}}
`)
	asked := make(chan error, 1)
	go func() { // ends with its response
		_, err := v.conn.Call(context.Background(), "own/question", nil)
		asked <- err
	}()
	c.Play("the bridge's own", `
codex< {"id":"$own","method":"own/question","params":null}
codex> {"id":"$own","result":{"a":1,"a":2}}
`)
	if err := <-asked; err == nil {
		t.Error("an answer that can't be read is one")
	}
}

// Codex may end within a response. The client gets the part and then, on a new line, the error
// that Codex has ended.
func TestTruncatedResponse(t *testing.T) {
	long := `{"id":1,"result":"` + strings.Repeat("x", 3*rpc.PumpBufferSize)
	for name, cut := range map[string]string{
		"short": `{"id":1,"result":{"text":"half a`, "long": long, "no id yet": `{"id":1`, "a failure": `{"error":{"code":-1,"mess`,
	} {
		t.Run(name, func(t *testing.T) {
			c := bridgetest.StartAs(t, bridge.Options{AnswerAll: always, Features: []bridge.Feature{observingRoutes()}})
			c.Play("asked", "editor> {\"id\":1,\"method\":\"m\"}\ncodex< {\"id\":1,\"method\":\"m\"}")
			c.CodexSendsPart(cut)
			c.CodexEnds()
			c.Play("ended", "editor<= "+cut+"\neditor< {\"id\":1,\"error\":{\"code\":-32011,\"message\":\"<text>\"}}")
		})
	}
	t.Run("wanted", func(t *testing.T) {
		c := bridgetest.StartAs(t, bridge.Options{AnswerAll: always, Features: []bridge.Feature{observingRoutes()}})
		c.Play("asked", "editor> {\"id\":1,\"method\":\"watched\"}\ncodex< {\"id\":1,\"method\":\"watched\"}")
		c.CodexSendsPart(`{"id":1,"result":{"text":"half a`)
		c.CodexEnds()
		c.Play("ended", `editor< {"id":1,"error":{"code":-32011,"message":"<text>"}}`)
	})
	t.Run("whole", func(t *testing.T) { // lacks only its line end
		c := bridgetest.StartAs(t, bridge.Options{AnswerAll: always, Features: []bridge.Feature{observingRoutes()}})
		c.Play("asked", "editor> {\"id\":1,\"method\":\"m\"}\ncodex< {\"id\":1,\"method\":\"m\"}\n"+
			"editor> {\"id\":2,\"method\":\"m\"}\ncodex< {\"id\":2,\"method\":\"m\"}")
		c.CodexSendsPart(`{"id":1,"result":{}}`)
		c.CodexEnds()
		c.Play("ended", "editor< {\"id\":1,\"result\":{}}\neditor< {\"id\":2,\"error\":{\"code\":-32011,\"message\":\"<text>\"}}")
	})
}

// Of a response with more values than are kept no result is returned: the missing ones may
// matter.
func TestResultOfTruncatedEnvelopeIsAbsent(t *testing.T) {
	e, err := rpc.ParseEnvelope([]byte(`{"id":1,"result":{"a":1,"b":[` + strings.Repeat("0,", 1<<22) + `0],"c":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if a := (&bridge.ServerResponse{Envelope: e}); a.Result().Exists() {
		t.Error("a part of the answer is shown as the whole")
	}
}
