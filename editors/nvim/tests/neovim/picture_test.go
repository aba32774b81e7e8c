package neovim

import (
	"strings"
	"testing"
)

// The picture has the colours of Neovim, and its text as text.
func TestScreenHTML(t *testing.T) {
	t.Parallel()
	s := newScreen()
	s.redraw(
		[]any{"default_colors_set", []any{int64(0xe0e0e0), int64(0x101010), int64(-1), int64(0), int64(0)}},
		[]any{"hl_attr_define", []any{int64(7), map[string]any{"foreground": int64(0xff0000), "bold": true}, map[string]any{}, []any{}},
			[]any{int64(8), map[string]any{"reverse": true}, map[string]any{}, []any{}}},
		[]any{"grid_resize", []any{int64(1), int64(5), int64(1)}},
		[]any{"grid_line", []any{int64(1), int64(0), int64(0), []any{[]any{"<", int64(7)}, []any{"b"}, []any{"c", int64(8), int64(2)}, []any{" ", int64(0)}}, false}},
		[]any{"flush", []any{}},
	)
	want := `<span style="color:#ff0000;background:#101010;font-weight:bold">&lt;b</span>` +
		`<span style="color:#101010;background:#e0e0e0">cc</span><span style="color:#e0e0e0;background:#101010"> </span>` + "\n</pre>\n"
	if got := s.HTML(); !strings.HasSuffix(got, "<pre>"+want) {
		t.Error(got)
	}
}
