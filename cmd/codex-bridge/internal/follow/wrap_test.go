package follow_test

import (
	"slices"
	"testing"

	"codex-bridge.example/cmd/codex-bridge/internal/follow"
)

// Wrap breaks lines at spaces, and words only if they are longer than a line.
func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"one two three", []string{"one two", "three"}},
		{"see /home/xy now", []string{"see", "/home/xy", "now"}},
		{"a 0123456789abcdef", []string{"a 01234567", "89abcdef"}},
		{"   0123456789", []string{"   0123456", "789"}},
		{"wide 漢字漢字漢字漢字", []string{"wide 漢字", "漢字漢字漢", "字"}},
	} {
		if got := follow.Wrap(test.text, 10); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}
