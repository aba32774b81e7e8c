package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// heap returns the size of the memory in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The queue to a client that does not read is limited in bytes (R7): notifications are dropped,
// requests refused, and long responses replaced by errors.
func TestMemoryForStoppedClient(t *testing.T) {
	const size, limit = 2 << 20, 48 << 20
	text := json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
	v := &connOnly{}
	c := bridgetest.Start(t, v, feature{{From: bridge.Client, Method: "long", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		call.Reply(text)
		return nil
	}}})
	c.Play("hello", "editor> {\"method\":\"hello\"}\ncodex< {\"method\":\"hello\"}")
	left := blockClient(t, c)
	before := heap()
	for range 150 {
		v.conn.Notify("own/told", text)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	refused := 0
	long := json.RawMessage(`"` + strings.Repeat("x", 6<<20) + `"`)
	for range 4 {
		_, err := v.conn.CallClient(over, "own/question", long)
		if e := (*rpc.Error)(nil); errors.As(err, &e) && e.Code == rpc.CodeBusy {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no question is refused")
	}
	for range 150 {
		c.EditorSends(`{"id":1,"method":"long"}`)
	}
	c.Play("all are handled", "editor> {\"method\":\"next\"}\ncodex< {\"method\":\"next\"}")
	if more := heap() - before; more > limit {
		t.Errorf("%d MiB more are in use", more>>20)
	}
	answers, errs := 0, 0
	for left > 0 || answers+errs < 150 {
		switch line := <-c.EditorReceives(); {
		case strings.HasPrefix(line, `{"method":"tell"`):
			left--
		case strings.HasPrefix(line, `{"id":1,"result"`):
			answers++
		case strings.Contains(line, `"code":-32015`) && strings.Contains(line, `"id":1`):
			errs++
		}
	}
	if errs == 0 {
		t.Errorf("%d answers, and no error", answers)
	}
}

// The queue to a Codex that does not read is limited in bytes, too: the bridge stops reading it
// until it reads. Every request gets its response.
func TestMemoryForStoppedCodex(t *testing.T) {
	const questions, size, limit = 2500, 64 << 10, 80 << 20
	no := strings.Repeat("x", size)
	c := bridgetest.Start(t, feature{{From: bridge.Codex, Method: "ask", Why: "t", HandleServer: func(_ context.Context, s *bridge.ServerMessage) {
		s.Refuse(rpc.Errorf(rpc.CodeRefused, "%s", no))
	}}})
	c.Play("hello", "editor> {\"method\":\"hello\"}\ncodex< {\"method\":\"hello\"}")
	before := heap()
	go func() { // ends at the latest when all are answered
		for range questions {
			c.CodexSends(`{"method":"ask","id":1,"params":{}}`)
		}
	}()
	awaitBlocked(t, c.CodexReceives())
	inTest := int64(cap(c.CodexReceives()) * size)
	if more := heap() - before - inTest; more > limit {
		t.Errorf("%d MiB more are in use", more>>20)
	}
	for range questions {
		if line := <-c.CodexReceives(); !strings.Contains(line, `"code":-32010`) {
			t.Fatalf("codex gets %.80s", line)
		}
	}
}
