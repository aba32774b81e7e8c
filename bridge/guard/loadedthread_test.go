package guard

import (
	"testing"

	"codex-bridge/bridge/policy"
)

// A thread that has become unverified keeps its record until Codex has unloaded it.
func TestLoadedThread(t *testing.T) {
	workspace, readOnly := policy.Thread{ID: "t", Reach: "workspace-write"}, policy.Thread{ID: "t", Reach: "read-only"}
	for _, test := range []struct {
		name   string
		change func(t *threads)
		varied bool
	}{
		{"nothing", func(*threads) {}, false},
		{"verified again", func(t *threads) { t.loaded["t"].verified(workspace) }, false},
		{"verified with another sandbox", func(t *threads) { t.loaded["t"].verified(readOnly) }, true},
		{"and with the first one again", func(t *threads) { t.loaded["t"].verified(readOnly); t.loaded["t"].verified(workspace) }, true},
		{"unsubscribed", func(t *threads) { t.unsubscribe("t") }, true},
		{"unverified", func(t *threads) { t.unverified("t") }, true},
		{"unloaded", func(t *threads) { t.unverified("t"); t.unloaded("t") }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			threads := threads{known: map[string]*thread{"t": {Thread: workspace}}}
			threads.recordLocked("t").verified(workspace)
			fence := policy.Fence{On: true}
			threads.mayHave("t", fence)
			threads.mayHave("t", policy.Fence{}) // Codex keeps the first one
			threads.mayHave("", fence)
			test.change(&threads)
			if got := threads.isVariedLocked("t"); got != test.varied {
				t.Errorf("its settings have changed: %v", got)
			}
			if got, unsubscribed := threads.profile("t"); unsubscribed != (test.name == "unsubscribed") || (got == nil) != (test.name == "unloaded") || got != nil && !got.On {
				t.Errorf("profile %v, unsubscribed %v", got, unsubscribed)
			}
			if threads.loaded[""] != nil {
				t.Error("a thread without an id has a record")
			}
		})
	}
	var none threads
	none.unsubscribe("t")
	none.unverified("t")
	if _, unsubscribed := none.profile("t"); unsubscribed || none.workspacesOf("t") != nil || none.isVariedLocked("t") {
		t.Error("a thread that the client has not opened has a record")
	}
}
