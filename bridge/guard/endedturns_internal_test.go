//go:build linux

package guard

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/bridge/mountpoint"
)

// Each client of a shared Codex learns of the end of a turn. A slow one learns of it during the next turn, whose mount
// points stay; the connection that no client delays removes all.
func TestLateEndOfTurnKeepsMountPoints(t *testing.T) {
	root := t.TempDir()
	keeper := mountpoint.New(filepath.Join(t.TempDir(), "s"), slog.New(slog.DiscardHandler))
	defer keeper.Close()
	client := func(others func(string) bool) *Guard {
		g := &Guard{shared: &shared{}, subscribers: others}
		g.SetMountPoints(keeper)
		return g
	}
	others := func(string) bool { return true }
	fast, slow, stranger, only := client(others), client(others), client(others), client(nil)
	hold := func(turn string) {
		keeper.Hold(t.Context(), "t", turn, []mountpoint.Folder{{Root: root, Name: turn}})
	}
	check := func(what string, want ...string) {
		t.Helper()
		keeper.Hold(t.Context(), what, "", []mountpoint.Folder{{Root: root, Name: what}}) // after what Release began
		entries, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, e := range entries {
			got[e.Name()] = true
		}
		for _, turn := range []string{"one", "two"} {
			if has := len(want) > 0 && want[0] == turn; got[turn] != has {
				t.Errorf("%s: %v, want %q", what, got, want)
			}
		}
	}
	for _, one := range []*Guard{fast, slow} {
		one.running.start("t", "one")
	}
	hold("one")
	fast.endTurn("t", "one")
	check("the end of the first turn")
	fast.running.start("t", "two")
	hold("two")
	slow.endTurn("t", "one")
	slow.endTurn("t", "") // thread/status/changed
	stranger.endTurn("t", "")
	check("late ends", "two")
	slow.running.start("t", "two")
	slow.endTurn("t", "of a review")
	check("the end of the second turn")
	hold("one")
	only.endTurn("t", "")
	check("the only client")
}
