package bridge_test

import (
	"context"
	"os"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// wideEnv enables the runs that take too long for every day.
const wideEnv = "CODEX_BRIDGE_WIDE"

// Both sides use the same few ids, in several spellings, for all messages at once. Responses come
// in any order, twice, late, and unsolicited. The bridge sends requests of its own to both
// sides. Each message must reach its receiver once, and the bridge's own requests must stay
// between the bridge and their receiver.
func TestIDs(t *testing.T) {
	interleavings := 1000
	if os.Getenv(wideEnv) != "" {
		interleavings = 50_000
	}
	// A feature that stops unsolicited responses must see every request.
	noAnswerUnasked := feature{
		{From: bridge.Client, Method: bridge.Unsolicited, Why: "t", HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
			return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
		}},
		{From: bridge.Codex, Method: bridge.Other, Why: "t", HandleServer: func(context.Context, *bridge.ServerMessage) {}},
	}
	for name, strict := range map[string]bool{"transparent": false, "strict": true} {
		t.Run(name, func(t *testing.T) {
			questions := &requestKeeper{}
			o := bridge.Options{Features: []bridge.Feature{&ownCaller{}, markingRoutes(), questions}}
			if strict {
				o.AnswerAll = always
				o.Features = append(o.Features, noAnswerUnasked)
			}
			p := newPlay(t, bridgetest.StartAs(t, o), questions, strict)
			for seed := range interleavings {
				p.interleave(uint64(seed))
			}
			t.Logf("%d interleavings, %d messages: %v", interleavings, p.total, p.seen)
		})
	}
}
