package methods_test

import (
	"slices"
	"testing"

	"codex-bridge.example/bridge/methods"
)

// The constants are the requests that the table says a person answers.
func TestForPerson(t *testing.T) {
	want := []string{
		methods.CommandApproval, methods.FileApproval, methods.PermissionApproval, methods.Elicitation, methods.UserInput,
		methods.LegacyCommandApproval, methods.LegacyFileApproval,
	}
	slices.Sort(want)
	if got := methods.ForPerson(); !slices.Equal(got, want) {
		t.Errorf("a person answers %q, want %q", got, want)
	}
	for _, method := range methods.Names(methods.ServerRequest) {
		if methods.IsForPerson(method) != slices.Contains(want, method) {
			t.Errorf("IsForPerson of %s is wrong", method)
		}
	}
	if _, ok := methods.Lookup(methods.ServerRequest, methods.ToolCall); !ok || methods.IsForPerson(methods.ToolCall) || methods.IsForPerson("turn/start") {
		t.Error("a person answers a call of a tool")
	}
}
