package output

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"codex-bridge.example/cmd/codex-bridge/internal/follow"
)

// MaxColumns is the width of errors at most, and of output on a terminal that does not say its own.
const MaxColumns = 100

// unlimitedColumns is the width of output that no person reads directly, such as a pipe: no line is wrapped, so
// that grep finds whole ones.
const unlimitedColumns = 1 << 30

// minColumn is the width below which no column of a table is wrapped.
const minColumn = 12

// wholeWord is the longest word that is wrapped only if no other column can get narrower: a time.
const wholeWord = 20

// Table prints rows in columns, which are wrapped to fit the terminal.
type Table struct {
	rows  [][]string
	after map[int]string // lines after so many rows
}

// Row adds a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Line adds a line across the columns.
func (t *Table) Line(text string) {
	if t.after == nil {
		t.after = make(map[int]string)
	}
	t.after[len(t.rows)] += text + "\n"
}

// Print prints the table.
func (t *Table) Print(out io.Writer) error {
	_, err := io.WriteString(out, t.Text(Width()))
	return err
}

// Text returns the table in lines of at most width columns.
func (t *Table) Text(width int) string {
	widths := t.widths(width)
	var b strings.Builder
	for r, row := range t.rows {
		lines := make([][]string, len(row))
		most := 0
		for i, cell := range row {
			lines[i] = follow.Wrap(cell, widths[i])
			most = max(most, len(lines[i]))
		}
		for n := range most {
			line := ""
			for i := range row {
				cell := ""
				if n < len(lines[i]) {
					cell = lines[i][n]
				}
				line += cell + strings.Repeat(" ", widths[i]-follow.Columns(cell)+2)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		b.WriteString(t.after[r+1])
	}
	return b.String()
}

// Width returns the columns that the table takes if no line is wrapped.
func (t *Table) Width() int { return total(t.widths(unlimitedColumns)) }

// widths returns the widths of the columns. While they need more than limit, the widest get narrower: first
// those that can be wrapped at spaces, then those with long words.
func (t *Table) widths(limit int) []int {
	var widths, words []int // the longest cell, and the longest word
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths, words = append(widths, 0), append(words, minColumn)
			}
			widths[i] = max(widths[i], follow.Columns(cell))
			for word := range strings.FieldsSeq(cell) {
				words[i] = max(words[i], follow.Columns(word))
			}
		}
	}
	short := make([]int, len(words)) // the words that stay whole, if they can
	for i, n := range words {
		short[i] = minColumn
		if n <= wholeWord {
			short[i] = n
		}
	}
	for _, least := range [][]int{words, short, slices.Repeat([]int{minColumn}, len(widths))} {
		for total(widths) > limit {
			i := widest(widths, least)
			if i < 0 {
				break
			}
			widths[i]--
		}
	}
	return widths
}

// total returns the width of a line with columns of these widths.
func total(widths []int) int {
	sum := 2 * (len(widths) - 1)
	for _, n := range widths {
		sum += n
	}
	return sum
}

// widest returns the widest column that is above its minimum, or -1.
func widest(widths, least []int) int {
	found := -1
	for i, n := range widths {
		if n > least[i] && (found < 0 || n > widths[found]) {
			found = i
		}
	}
	return found
}

// Width returns $COLUMNS, or the width of the terminal on stdout. Without both, no line is wrapped.
func Width() int {
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	switch {
	case err != nil:
		return unlimitedColumns
	case width <= 0:
		return MaxColumns
	}
	return width
}
