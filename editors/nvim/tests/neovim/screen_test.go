package neovim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The test is in the package because callers have no access to redraw.
func TestScreenAppliesLinegridEvents(t *testing.T) {
	t.Parallel()
	cell := func(text string, times int) []any { return []any{text, int64(0), int64(times)} }
	line := func(row int, cells ...any) []any { return []any{int64(1), int64(row), int64(0), cells, false} }
	s := newScreen()
	s.redraw(
		[]any{"grid_resize", []any{int64(1), int64(4), uint64(3)}},
		[]any{"grid_line", line(0, []any{"a"}, cell("b", 2)), line(1, cell("c", 4)), line(2, []any{"ä"})},
		[]any{"flush", []any{}},
	)
	if diff := cmp.Diff("abb\ncccc\nä\n", s.Text()); diff != "" {
		t.Error(diff)
	}
	s.redraw([]any{"grid_scroll", []any{int64(1), int64(0), int64(3), int64(0), int64(2), int64(1), int64(0)}})
	if diff := cmp.Diff("abb\ncccc\nä\n", s.Text()); diff != "" {
		t.Errorf("before the flush: %s", diff)
	}
	s.redraw([]any{"flush", []any{}})
	if diff := cmp.Diff("ccb\nä cc\nä\n", s.Text()); diff != "" {
		t.Error(diff)
	}
	s.redraw([]any{"grid_scroll", []any{int64(1), int64(0), int64(2), int64(2), int64(4), int64(-1), int64(0)}}, []any{"flush", []any{}})
	if diff := cmp.Diff("ccb\nä b\nä\n", s.Text()); diff != "" {
		t.Error(diff)
	}
	s.redraw([]any{"grid_clear", []any{}}, []any{"flush", []any{}})
	if diff := cmp.Diff("\n\n\n", s.Text()); diff != "" {
		t.Error(diff)
	}
	if got, want := s.Counts(), (Counts{Flushes: 4, Cells: 8, Clears: 1}); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
}
