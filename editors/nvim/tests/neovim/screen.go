package neovim

import (
	"strings"
	"sync"
)

// Screen is what Neovim has drawn: its linegrid events (:help ui-linegrid), put together.
type Screen struct {
	mu      sync.Mutex
	shown   [][]string // of the last flush
	cells   [][]string
	counts  Counts
	changed chan struct{} // closed and renewed with each flush
}

// Counts is how much was drawn.
type Counts struct {
	Flushes int // pictures that a person could see
	Cells   int // characters that were sent for them
	Clears  int // times the whole screen was wiped
}

func newScreen() *Screen { return &Screen{changed: make(chan struct{})} }

// redraw takes the events of one notification.
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
				s.take(name, event)
			}
		}
	}
}

func (s *Screen) take(name string, event []any) {
	switch name {
	case "grid_resize":
		s.cells = make([][]string, number(event, 2))
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
	case "flush":
		s.counts.Flushes++
		s.shown = make([][]string, len(s.cells))
		for i, row := range s.cells {
			s.shown[i] = append([]string(nil), row...)
		}
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// line puts cells into a row: each is its text, its highlight if that changes, and how often.
func (s *Screen) line(row, column int, cells []any) {
	for _, raw := range cells {
		cell := raw.([]any)
		text, _ := cell[0].(string)
		times := 1
		if len(cell) > 2 {
			times = number(cell, 2)
		}
		for range times {
			if row < len(s.cells) && column < len(s.cells[row]) {
				s.cells[row][column] = text
			}
			column++
			s.counts.Cells++
		}
	}
}

// scroll moves what is in a rectangle up by rows, or down where that is negative.
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

// Text is the screen, a line a row, without the blanks at the ends of lines.
func (s *Screen) Text() string {
	text, _ := s.look()
	return text
}

// look is Text, and what is closed when another picture is there.
func (s *Screen) look() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, row := range s.shown {
		b.WriteString(strings.TrimRight(strings.Join(row, ""), " ") + "\n")
	}
	return b.String(), s.changed
}

// Counts is how much was drawn so far.
func (s *Screen) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

func blank(width int) []string {
	row := make([]string, width)
	for i := range row {
		row[i] = " "
	}
	return row
}

// number is an element that Neovim sends as an integer of any kind.
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
