package guard_test

import (
	"log/slog"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/rpc"
)

// A request of which the bridge keeps only a part is refused, because the part may look harmless.
func TestTruncatedQuestion(t *testing.T) {
	const method = "mcpServer/elicitation/request"
	for filler, passes := range map[int]bool{1: true, 1 << 22: false} {
		e, err := rpc.ParseEnvelope([]byte(`{"method":"` + method + `","id":1,"params":{"serverName":"db","x":[` + strings.Repeat("0,", filler) + `0],
			"_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"read"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		g := guard.New(load(t, readOnlyPolicy), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
		said := &bridge.ServerMessage{Envelope: e, Line: []byte("line")}
		for _, route := range g.Routes() {
			if route.From == bridge.Codex && route.Method == method {
				route.HandleServer(t.Context(), said)
			}
		}
		if got := said.Line != nil; got != passes {
			t.Errorf("behind %d values it passes: %v", filler, got)
		}
	}
}
