package rpc_test

import (
	"testing"

	"codex-bridge.example/rpc"
)

// Clients depend on these numbers.
func TestCodes(t *testing.T) {
	for got, want := range map[rpc.Code]int{
		rpc.CodeParse: -32700, rpc.CodeInvalidRequest: -32600, rpc.CodeUnknownMethod: -32601, rpc.CodeInvalidParams: -32602, rpc.CodeInternal: -32603,
		rpc.CodeOverloaded: -32001, rpc.CodeRefused: -32010, rpc.CodeUpstream: -32011, rpc.CodeDeadline: -32012,
		rpc.CodeNotVerified: -32013, rpc.CodeTooLarge: -32014, rpc.CodeBusy: -32015,
	} {
		if int(got) != want {
			t.Errorf("code %d, want %d", got, want)
		}
	}
}
