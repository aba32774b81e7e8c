package guard

import (
	"context"
	"errors"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
)

// After the clients of a turn have left, the hooks of a call are those that Codex listed when it came. Those of
// a call that came later are not known.
func TestHooksOfCallAreRemembered(t *testing.T) {
	w := newAgentWorld(t, nil)
	var names []string
	var gone error
	w.g.SetOtherHooks(func(context.Context, string, string, string) ([]string, error) { return names, gone }, "")
	of := func(id string) string {
		return w.g.otherHooksOf(t.Context(), "t", toolcall.Call{ID: id, Name: "Bash"}, policy.State{})
	}
	none := of("none")
	names = []string{"mine", "other"}
	one := of("one")
	names, gone = nil, errors.New("no client")
	if none != "" || one != "mine" || of("none") != "" || of("one") != "mine" || of("later") == "" {
		t.Errorf("before %q, %q; afterwards %q, %q, %q", none, one, of("none"), of("one"), of("later"))
	}
}
