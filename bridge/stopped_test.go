package bridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/bridgetest"
	"codex-bridge/rpc"
)

// voice is a feature that has nothing but its voice.
type voice struct{ peer *bridge.Conn }

func (v *voice) Attach(p *bridge.Conn)  { v.peer = p }
func (v *voice) Routes() []bridge.Route { return nil }

// stopped waits until as many lines wait at a side as the test takes; it reads no more then.
func stopped(t *testing.T, heard <-chan string) {
	t.Helper()
	for end := time.Now().Add(patience); len(heard) < cap(heard); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d lines have come", len(heard))
		}
	}
}

// A question that the bridge can't even ask, because nobody listens, is over when its time is.
func TestDeadlineOfWhatCannotBeSaid(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	deadline := func(t *testing.T, err error) {
		t.Helper()
		if e := (*rpc.Error)(nil); !errors.As(err, &e) || e.Code != rpc.CodeDeadline {
			t.Errorf("the question ends with %v", err)
		}
	}
	t.Run("the client", func(t *testing.T) {
		v := &voice{}
		c := bridgetest.Start(t, v)
		c.Play("hello", "editor> {\"method\":\"hello\"}\ncodex< {\"method\":\"hello\"}")
		go func() { // the end of the test ends it
			for range 4000 {
				c.CodexSends(`{"method":"tell","params":{"text":"` + strings.Repeat("x", 4000) + `"}}`)
			}
		}()
		stopped(t, c.EditorReceives())
		_, err := v.peer.CallClient(over, "own/question", nil)
		deadline(t, err)
		_, err = v.peer.AskUser(over, "thread", "own/question", nil)
		deadline(t, err)
		// The other direction is not held up.
		c.Play("on", "editor> {\"id\":1,\"method\":\"turn/interrupt\"}\ncodex< {\"id\":1,\"method\":\"turn/interrupt\"}")
		told := 0
		for told < 4000 {
			if line := <-c.EditorReceives(); strings.HasPrefix(line, `{"method":"tell"`) {
				told++
			}
		}
	})
	t.Run("codex", func(t *testing.T) {
		v := &voice{}
		c := bridgetest.Start(t, v)
		t.Cleanup(func() {
			go func() { // ends with the conversation
				for range c.CodexReceives() {
				}
			}()
		})
		c.Play("hello", "editor> {\"method\":\"hello\"}\ncodex< {\"method\":\"hello\"}") // it runs
		for range cap(c.CodexReceives()) + 10 {
			c.EditorSends(`{"method":"tell"}`)
		}
		stopped(t, c.CodexReceives())
		_, err := v.peer.Call(over, "own/question", strings.Repeat("x", 16<<20))
		deadline(t, err)
		// The other direction is not held up.
		c.Play("on", "codex> {\"method\":\"tell\"}\neditor< {\"method\":\"tell\"}")
	})
}
