package threads

import (
	"context"
	"errors"
	"strings"
	"testing"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/rpc"
)

// A client that has ended owns no session, also if the state could not be written: its editor may connect again.
func TestEndedClientOwnsNoSession(t *testing.T) {
	owners := &Owners{}
	locked := func(context.Context) (*store.Store, error) { return nil, errors.New("the state is locked") }
	ended, next := New(Options{Store: locked, Owners: owners}), New(Options{Owners: owners})
	ended.held["s"] = owners.take("s", ended)
	if err := ended.Close(t.Context()); err == nil {
		t.Error("no error")
	}
	if !owners.take("s", next) || ended.State().Sessions != 0 {
		t.Error("the session still belongs to the client that has ended")
	}
}

// The refusal of a session that another client of this process has names no time, which is not known.
func TestSessionOfOtherClient(t *testing.T) {
	owners := &Owners{}
	first, second := New(Options{Owners: owners}), New(Options{Owners: owners})
	if !owners.take("s", first) {
		t.Fatal("the session has an owner")
	}
	err := second.acquire(t.Context(), nil, "s")
	var refused *rpc.Error
	if !errors.As(err, &refused) || refused.Code != rpc.CodeBusy || !strings.Contains(refused.Message, "another client of process") || strings.Contains(refused.Message+string(refused.Data), "0001") {
		t.Errorf("%v", err)
	}
}
