//go:build linux

package guard

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codex-bridge.example/bridge/mountpoint"
)

// Each client of a shared Codex learns of the end of a turn. A slow one learns of it during the next turn, whose mount
// points stay; the connection that no client delays removes all.
func TestLateEndOfTurnKeepsMountPoints(t *testing.T) {
	root := t.TempDir()
	keeper := mountpoint.New(filepath.Join(t.TempDir(), "s"), slog.New(slog.DiscardHandler))
	defer keeper.Close()
	client := func(others func(string) bool) *Guard {
		g := &Guard{shared: &shared{}, clientOptions: clientOptions{subscribers: others}}
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
		keeper.Hold(t.Context(), what, "", []mountpoint.Folder{{Root: root, Name: what}})
		keeper.Release(what)
		for _, err := os.Stat(filepath.Join(root, what)); err == nil && t.Context().Err() == nil; _, err = os.Stat(filepath.Join(root, what)) {
			time.Sleep(time.Millisecond) // this Release ends after those before
		}
		has := func(turn string) bool {
			_, err := os.Stat(filepath.Join(root, turn))
			return err == nil
		}
		for _, turn := range []string{"one", "two"} {
			stays := len(want) > 0 && want[0] == turn
			for !stays && has(turn) && t.Context().Err() == nil {
				time.Sleep(time.Millisecond) // its Release ends at about the same time
			}
			if has(turn) != stays {
				t.Errorf("%s: %s is there: %t", what, turn, !stays)
			}
		}
	}
	for _, one := range []*Guard{fast, slow} {
		one.threads.apply("t", turnBegun{client: one, turn: "one"})
	}
	hold("one")
	fast.endTurn("t", "one")
	check("the end of the first turn")
	fast.threads.apply("t", turnBegun{client: fast, turn: "two"})
	hold("two")
	slow.endTurn("t", "one")
	slow.endTurn("t", "") // thread/status/changed
	stranger.endTurn("t", "")
	check("late ends", "two")
	slow.threads.apply("t", turnBegun{client: slow, turn: "two"})
	slow.endTurn("t", "of a review")
	check("the end of the second turn")
	hold("one")
	only.endTurn("t", "")
	check("the only client")
}
