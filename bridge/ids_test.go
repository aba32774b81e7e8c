package bridge_test

import (
	"context"
	"os"
	"testing"

	"codex-bridge/bridge"
	"codex-bridge/bridge/bridgetest"
	"codex-bridge/rpc"
)

// wideEnv is set for the runs that take too long for every day.
const wideEnv = "CODEX_BRIDGE_WIDE"

// Both sides use the same few ids, in several spellings, for all at once: requests, questions,
// and answers that come in any order, twice, late, and to what was never asked; while the
// bridge asks for itself on both sides. Whatever is said arrives where it belongs, once, and
// what the bridge has asked itself stays between it and whom it has asked.
func TestIDs(t *testing.T) {
	interleavings := 1000
	if os.Getenv(wideEnv) != "" {
		interleavings = 50_000
	}
	// Who is to stop an answer to nothing has to hear every question.
	noAnswerUnasked := feature{
		{From: bridge.Client, Method: bridge.Unsolicited, Why: "t", HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
			return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
		}},
		{From: bridge.Codex, Method: bridge.Other, Why: "t", HandleServer: func(context.Context, *bridge.ServerMessage) {}},
	}
	for name, strict := range map[string]bool{"transparent": false, "strict": true} {
		t.Run(name, func(t *testing.T) {
			questions := &keepsQuestions{}
			o := bridge.Options{Features: []bridge.Feature{&asksOwn{}, watches(), questions}}
			if strict {
				o.AnswerAll = always
				o.Features = append(o.Features, noAnswerUnasked)
			}
			p := newPlay(t, bridgetest.StartAs(t, o), questions, strict)
			for seed := range interleavings {
				p.interleave(uint64(seed))
			}
			t.Logf("%d interleavings, %d messages: %v", interleavings, p.messages, p.seen)
		})
	}
}
