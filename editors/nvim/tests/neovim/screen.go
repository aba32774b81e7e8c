package neovim

import (
	"strings"
	"sync"
)

// Screen holds the text that Neovim draws. It applies the events of :help ui-linegrid.
type Screen struct {
	mu      sync.Mutex
	shown   [][]string // cells at the last flush
	cells   [][]string
	counts  Counts
	changed chan struct{} // closed and replaced at each flush
}

// Counts counts drawing events.
type Counts struct {
	Flushes int // visible updates of the screen
	Cells   int // cells that Neovim sent
	Clears  int // clears of the whole screen
}

func newScreen() *Screen { return &Screen{changed: make(chan struct{})} }

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

// line writes cells into a row. A cell is its text, an optional highlight and an optional
// repeat count.
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
		b.WriteString(strings.TrimRight(strings.Join(row, ""), " ") + "\n")
	}
	return b.String(), s.changed
}

// Counts returns the counts since the start.
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
