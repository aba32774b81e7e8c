package bridge

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/rpc"
)

// Requests that Codex never answers give their places to others once they are old; those
// that are not old keep them (R9). Handlers learn that the outcome is not known, and an
// answer that comes after all passes to the client.
func TestAbandonedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConversation(nil, nil)
		id := func(n int) rpc.ID { return rpc.NewStringID(fmt.Sprint(n)) }
		outcome := Succeeded
		for n := range maxPending {
			if _, err := c.registerRequest(id(n), false, []func(*ServerResponse){func(a *ServerResponse) { outcome = a.Outcome() }}); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				time.Sleep(time.Second)
			}
		}
		if _, err := c.registerRequest(id(-1), false, nil); err == nil || err.Code != rpc.CodeOverloaded {
			t.Fatalf("one more: %v", err)
		}
		time.Sleep(abandonedAfter - time.Second)
		abandoned, err := c.registerRequest(id(-1), false, nil)
		if err != nil || abandoned == nil || abandoned.id.Key() != id(0).Key() {
			t.Fatalf("after a minute %v is given up: %v", abandoned, err)
		}
		for _, f := range abandoned.handlers {
			f(&ServerResponse{})
		}
		if outcome != Unknown {
			t.Errorf("the outcome is %d", outcome)
		}
		if _, err := c.registerRequest(id(0), true, nil); err == nil || err.Code != rpc.CodeInvalidRequest {
			t.Errorf("its id is used again before its answer: %v", err)
		}
		if !c.mayWantResponse() || c.wantsResponse([]byte(id(0).Key())) {
			t.Error("its answer does not pass")
		}
		if _, err := c.registerRequest(id(0), true, nil); err != nil {
			t.Errorf("its id is used again after its answer: %v", err)
		}
		c.dropRequest(id(0).Key())
		if _, err := c.registerRequest(id(-2), false, nil); err == nil {
			t.Error("one that is not old is given up")
		}
		time.Sleep(time.Second)
		for n := range maxPending - 1 {
			if _, err := c.registerRequest(id(-2-n), false, nil); err != nil {
				t.Fatalf("the %d. after a minute: %v", n+1, err)
			}
		}
	})
}
