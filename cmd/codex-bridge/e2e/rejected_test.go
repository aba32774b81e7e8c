//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A turn that Codex rejects does not change the approval policy. An accepted turn does, which
// is the control.
func TestTurnRejectedByCodexKeepsApprovalPolicy(t *testing.T) {
	t.Parallel()
	a := newWorld(t, options{config: gateConfig}).newAcceptingEditor(proxyArgv...)
	thread := a.thread(asksAll)
	if got := len(a.turn(thread, "RUN: true")); got != 1 {
		t.Errorf("%d questions", got)
	}
	// Measured: Codex refuses texts of more than 1,048,576 characters.
	turn := input(thread, strings.Repeat("x", 1<<20+1))
	turn["approvalPolicy"] = "on-request"
	if err := a.mustFail("turn/start", turn); !strings.Contains(err.Message, "1048576") || strings.Contains(string(err.Data), "policy.") {
		t.Fatalf("Codex did not refuse it: %v", err)
	}
	if got := len(a.turn(thread, "RUN: true")); got != 1 {
		t.Errorf("after a rejected turn: %d questions", got)
	}
	turn = input(thread, "good day")
	turn["approvalPolicy"] = "on-request"
	mark := a.Mark()
	a.must("turn/start", turn)
	a.waitFor(mark, "turn/completed", nil)
	if got := len(a.turn(thread, "RUN: true")); got != 0 {
		t.Errorf("after an accepted turn: %d questions", got)
	}
	a.closeAndWait()
}

// Codex ignores a request whose trace it can't parse (R9). Under a policy the bridge refuses it;
// without one it passes unchanged.
func TestRequestThatCodexDropsIsRefused(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"id":901,"method":"thread/loaded/list","params":{},"trace":5}`,
		`{"id":902,"method":"thread/loaded/list","params":{},"trace":{"traceparent":5}}`,
		`{"id":903,"method":"thread/loaded/list","params":{},"trace":{"tracestate":[]}}`,
	}
	for name, test := range map[string]struct {
		config  string
		argv    []string
		refused bool
	}{
		"codex alone": {"", []string{codexPath, "app-server"}, false},
		"no policy":   {"", proxyArgv, false},
		"a policy":    {gateConfig, proxyArgv, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newWorld(t, options{config: test.config}).open(test.argv...)
			c.initialize(nil)
			for _, line := range lines {
				answers, mark := c.sendLine([]byte(line))
				if test.refused { // a refusal is logged first, so a later request may have its response before
					answers = []editor.Message{c.waitReply(mark, "the refusal")}
				}
				if refused := len(answers) == 1 && answers[0].Error != nil && answers[0].Error.Code == -32600; refused != test.refused || !refused && len(answers) > 0 {
					t.Errorf("%s: %d responses, refused: %t", line, len(answers), refused)
				}
			}
			_, mark := c.sendLine([]byte(`{"id":904,"method":"thread/loaded/list","params":{},"trace":{"traceparent":null,"x":1}}`))
			if answer := c.waitReply(mark, "a trace that Codex takes"); answer.Error != nil {
				t.Errorf("with a valid trace: %v", answer.Error)
			}
			c.closeAndWait()
		})
	}
}
