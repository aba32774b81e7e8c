package neovim

import (
	"slices"
	"strings"
	"sync"
)

// Screen holds the text that Neovim draws. It applies the events of :help ui-linegrid.
type Screen struct {
	mu      sync.Mutex
	shown   [][]cell // cells at the last flush
	cells   [][]cell
	styles  map[int]style // 0: the default
	counts  Counts
	changed chan struct{} // closed and replaced at each flush
}

// Counts counts drawing events.
type Counts struct {
	Flushes int // visible updates of the screen
	Cells   int // cells that Neovim sent
	Clears  int // clears of the whole screen
}

// cell is one position of the screen.
type cell struct {
	text  string
	style int
}

func newScreen() *Screen { return &Screen{styles: map[int]style{}, changed: make(chan struct{})} }

// redraw applies the events of one notification.
func (s *Screen) redraw(updates ...[]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, update := range updates {
		if len(update) == 0 {
			continue
		}
		name, _ := update[0].(string)
		for _, raw := range update[1:] {
			if event, ok := raw.([]any); ok {
				s.apply(name, event)
			}
		}
	}
}

func (s *Screen) apply(name string, event []any) {
	switch name {
	case "grid_resize":
		s.cells = make([][]cell, number(event, 2))
		for i := range s.cells {
			s.cells[i] = blank(number(event, 1))
		}
	case "grid_clear":
		s.counts.Clears++
		for i := range s.cells {
			s.cells[i] = blank(len(s.cells[i]))
		}
	case "grid_line":
		s.line(number(event, 1), number(event, 2), event[3].([]any))
	case "grid_scroll":
		s.scroll(number(event, 1), number(event, 2), number(event, 3), number(event, 4), number(event, 5))
	case "default_colors_set":
		s.styles[0] = style{foreground: colour(number(event, 0)), background: colour(number(event, 1))}
	case "hl_attr_define":
		s.styles[number(event, 0)] = newStyle(event[1].(map[string]any))
	case "flush":
		s.counts.Flushes++
		s.shown = make([][]cell, len(s.cells))
		for i, row := range s.cells {
			s.shown[i] = slices.Clone(row)
		}
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// line writes cells into a row. A cell is its text, an optional style (else the one before) and an optional
// repeat count.
func (s *Screen) line(row, column int, cells []any) {
	style := 0
	for _, raw := range cells {
		parts := raw.([]any)
		text, _ := parts[0].(string)
		times := 1
		if len(parts) > 1 {
			style = number(parts, 1)
		}
		if len(parts) > 2 {
			times = number(parts, 2)
		}
		for range times {
			if row < len(s.cells) && column < len(s.cells[row]) {
				s.cells[row][column] = cell{text, style}
			}
			column++
			s.counts.Cells++
		}
	}
}

// scroll moves the content of a rectangle up by rows, or down if rows is negative.
func (s *Screen) scroll(top, bottom, left, right, rows int) {
	move := func(to int) {
		if from := to + rows; from >= top && from < bottom {
			copy(s.cells[to][left:right], s.cells[from][left:right])
		}
	}
	if rows > 0 {
		for to := top; to < bottom; to++ {
			move(to)
		}
		return
	}
	for to := bottom - 1; to >= top; to-- {
		move(to)
	}
}

// Text returns the screen, one line per row, without trailing blanks.
func (s *Screen) Text() string {
	text, _ := s.snapshot()
	return text
}

// snapshot returns Text and a channel that is closed at the next flush.
func (s *Screen) snapshot() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, row := range s.shown {
		var line strings.Builder
		for _, c := range row {
			line.WriteString(c.text)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String(), s.changed
}

// Counts returns the counts since the start.
func (s *Screen) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

func blank(width int) []cell { return slices.Repeat([]cell{{text: " "}}, width) }

// number returns element i of an event, an integer of any type.
func number(event []any, i int) int {
	switch n := event[i].(type) {
	case int64:
		return int(n)
	case uint64:
		return int(n)
	case int:
		return n
	}
	return 0
}
