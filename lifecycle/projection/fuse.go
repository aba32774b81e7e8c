package projection

import (
	"regexp"
	"strconv"
	"strings"
)

// usualWindow stands for a window that is not known, in tokens.
const usualWindow = 300_000

// Fuse is how large a thread may grow before a new one has to be started.
type Fuse struct {
	Windows []int // of the model, as far as they are known: the least counts
	Reserve *int  // nil: the usual one
	Next    int   // what the next turn will add
}

// MaxTokens is the number of tokens from which on a thread is too large. It is never
// below one: a thread that has said nothing yet is no better than another.
func (f Fuse) MaxTokens() int {
	window := 0
	for _, w := range f.Windows {
		if w > 0 && (window == 0 || w < window) {
			window = w
		}
	}
	if window == 0 {
		window = usualWindow
	}
	return max(window-free(window, f.Reserve)-f.Next, 1)
}

// Blown tells whether a thread of so many tokens is too large; 0 is not known.
func (f Fuse) Blown(tokens int) bool { return tokens > 0 && tokens >= f.MaxTokens() }

var size = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*(?:([kmgt]?)(?:i?b)?)$`)

// Bytes reads a size: a number of bytes, with a unit (powers of 1024) or without. What is
// none, and zero, is no limit.
func Bytes(text string) (n int64, ok bool) {
	m := size.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	for range strings.Index(" kmgt", m[2]) * min(len(m[2]), 1) {
		f *= 1024
	}
	if f < 1 || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}
