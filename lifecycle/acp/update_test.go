package acp_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/lifecycle/acp"
)

// The outbox limits each field that an agent can make long.
func TestOutboxIsLimited(t *testing.T) {
	const mib = 1 << 20
	long := strings.Repeat("x", mib)
	for name, u := range map[string]acp.Update{
		"text":     {Kind: acp.Said, Text: long},
		"title":    {Kind: acp.Used, Tool: &acp.Tool{Title: long}},
		"id":       {Kind: acp.Used, Tool: &acp.Tool{ID: long}},
		"state":    {Kind: acp.Used, Tool: &acp.Tool{Kind: long, Status: long}},
		"question": {Kind: acp.Decided, Text: "allowed", Tool: &acp.Tool{Title: long}},
	} {
		t.Run(name, func(t *testing.T) {
			hear := make(chan struct{})
			put, end := acp.Outbox(func(acp.Update) { <-hear })
			n := 0
			for n < 100 && put(u) {
				n++
			}
			close(hear)
			end()
			if n < 3 || n > 16 {
				t.Errorf("%d MiB wait", n)
			}
		})
	}
}

// Pieces of a text that wait for a slow reader are one update, which still has each of them.
func TestOutboxKeepsPieces(t *testing.T) {
	entered, release := make(chan struct{}, 10), make(chan struct{})
	var got []acp.Update
	put, end := acp.Outbox(func(u acp.Update) {
		entered <- struct{}{}
		<-release
		got = append(got, u)
	})
	put(acp.Update{Kind: acp.Started})
	<-entered // the reader is busy
	for _, text := range []string{"one\n\n", "two", " three"} {
		put(acp.Update{Kind: acp.Said, Text: text})
	}
	close(release)
	end()
	if len(got) != 2 || got[1].Text != "one\n\ntwo three" {
		t.Fatalf("%+v", got)
	}
	if pieces := slices.Collect(got[1].Pieces()); !slices.Equal(pieces, []string{"one\n\n", "two", " three"}) {
		t.Errorf("the pieces are %q", pieces)
	}
}

// End and Cancel of a starting child return an error.
func TestEndOfStartingChildFails(t *testing.T) {
	r := newRoom(t, acp.Options{Open: time.Hour, Grace: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	spawned := make(chan acp.Result)
	go func() { spawned <- r.Spawn(ctx, acp.Request{Task: "say x", Agent: "mute"}, acp.Requester{}) }()
	for len(r.List()) == 0 {
		runtime.Gosched()
	}
	key := r.List()[0].Child
	if err := r.End(t.Context(), key); err == nil {
		t.Error("it is told to have ended")
	}
	if err := r.Cancel(t.Context(), key); err == nil {
		t.Error("it is told to be cancelled")
	}
	cancel()
	if got := <-spawned; got.Status != acp.Failed || len(r.List()) > 0 {
		t.Errorf("%+v, and %+v are left", got, r.List())
	}
}
