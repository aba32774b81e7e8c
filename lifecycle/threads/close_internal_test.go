package threads

import (
	"context"
	"errors"
	"testing"

	"codex-bridge.example/bridge/store"
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
