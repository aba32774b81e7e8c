package bridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// connOnly is a feature without routes.
type connOnly struct{ conn *bridge.Conn }

func (v *connOnly) Attach(p *bridge.Conn)  { v.conn = p }
func (v *connOnly) Routes() []bridge.Route { return nil }

func (*connOnly) Stage() bridge.Stage { return bridge.BeforeGuard }

// awaitBlocked waits until the queue of a side has the lines of the test; the side does not read.
func awaitBlocked(t *testing.T, heard <-chan string) {
	t.Helper()
	for end := time.Now().Add(testTimeout); len(heard) < cap(heard); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d lines have come", len(heard))
		}
	}
}

// CallClient ends with its context even if the client does not read the request.
func TestCallClientEndsWithContext(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	deadline := func(t *testing.T, err error) {
		t.Helper()
		if e := (*rpc.Error)(nil); !errors.As(err, &e) || e.Code != rpc.CodeDeadline {
			t.Errorf("the question ends with %v", err)
		}
	}
	t.Run("the client", func(t *testing.T) {
		v := &connOnly{}
		c := bridgetest.Start(t, v)
		c.Play("hello", "editor> {\"method\":\"hello\"}\ncodex< {\"method\":\"hello\"}")
		go func() { // ends with the test
			for range 4000 {
				c.CodexSends(`{"method":"tell","params":{"text":"` + strings.Repeat("x", 4000) + `"}}`)
			}
		}()
		awaitBlocked(t, c.EditorReceives())
		_, err := v.conn.CallClient(over, "own/question", nil)
		deadline(t, err)
		_, err = v.conn.AskUser(over, "thread", "own/question", nil)
		deadline(t, err)
		// The other direction is not blocked.
		c.Play("on", "editor> {\"id\":1,\"method\":\"turn/interrupt\"}\ncodex< {\"id\":1,\"method\":\"turn/interrupt\"}")
		told := 0
		for told < 4000 {
			if line := <-c.EditorReceives(); strings.HasPrefix(line, `{"method":"tell"`) {
				told++
			}
		}
	})
	t.Run("codex", func(t *testing.T) {
		v := &connOnly{}
		c := bridgetest.Start(t, v)
		t.Cleanup(func() {
			go func() { // ends with the conversation
				for range c.CodexReceives() {
				}
			}()
		})
		c.Play("hello", "editor> {\"method\":\"hello\"}\ncodex< {\"method\":\"hello\"}") // the proxy is running
		for range cap(c.CodexReceives()) + 10 {
			c.EditorSends(`{"method":"tell"}`)
		}
		awaitBlocked(t, c.CodexReceives())
		_, err := v.conn.Call(over, "own/question", strings.Repeat("x", 16<<20))
		deadline(t, err)
		// The other direction is not blocked.
		c.Play("on", "codex> {\"method\":\"tell\"}\neditor< {\"method\":\"tell\"}")
	})
}
