package acp_test

import (
	"strings"
	"testing"

	"codex-bridge/lifecycle/acp"
)

// What waits to be told is bounded, whatever of it is long.
func TestUntold(t *testing.T) {
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
