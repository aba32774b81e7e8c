package methods

import (
	"cmp"
	_ "embed"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge/setting"
)

// MethodTable is the text of methods.txt, and FieldTable that of fields.txt.
var (
	//go:embed methods.txt
	MethodTable string
	//go:embed fields.txt
	FieldTable string
)

// Measured is the newest release of Codex that the program's own tables cover, with which it was tested.
var Measured = releaseOf(MethodTable)

const releasePrefix = "codex "

// releaseOf returns the release that the first line of a methods.txt names.
func releaseOf(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimPrefix(first, releasePrefix))
}

// table has all rows, sorted by side, then method, and their indexes.
type table struct {
	rows    []Row
	indexes [sides]map[string]int
}

// allRows parses the tables at the first use. A test parses them, too.
var allRows = sync.OnceValue(func() *table {
	t, err := parseRows(MethodTable, FieldTable)
	if err != nil {
		panic(err)
	}
	return t
})

// EachRow calls f with the cells of each row of a table: the text between bars, without the space around it. A line
// that begins with # is a comment. f must not keep the slice. The errors name the file.
func EachRow(file, text string, columns int, f func(cells []string) error) error {
	cells := make([]string, 0, columns)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || file == methodsFile && strings.HasPrefix(line, releasePrefix) {
			continue
		}
		cells = cells[:0]
		for cell := range strings.SplitSeq(line, "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		if len(cells) != columns {
			return fmt.Errorf("%s: %q has %d columns, and not %d", file, line, len(cells), columns)
		}
		if err := f(cells); err != nil {
			return fmt.Errorf("%s: %q: %w", file, line, err)
		}
	}
	return nil
}

// The files of the tables, for errors and patches.
const (
	methodsFile = "methods.txt"
	fieldsFile  = "fields.txt"
)

func parseRows(methodText, fieldText string) (*table, error) {
	fields := make(map[string][]Field)
	err := EachRow(fieldsFile, fieldText, 5, func(cells []string) error {
		fields[cells[0]] = append(fields[cells[0]], Field{cells[1], cells[2], cells[3], cells[4]})
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &table{rows: make([]Row, 0, strings.Count(methodText, "\n"))}
	err = EachRow(methodsFile, methodText, 8, func(cells []string) error {
		row := Row{
			Method: cells[1], Class: Class(cells[2]), Verdict: Verdict(cells[3]), Rules: strings.Fields(cells[4]),
			Since: cells[5], Until: cells[6], Why: cells[7], Params: fields[cells[1]],
		}
		for _, field := range row.Params {
			if field.Rule != AnyValue {
				row.Fields = append(row.Fields, field.Name)
			}
		}
		t.rows = append(t.rows, row)
		return t.rows[len(t.rows)-1].Side.UnmarshalText([]byte(cells[0]))
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(t.rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Side, b.Side), cmp.Compare(a.Method, b.Method))
	})
	for side := range t.indexes {
		t.indexes[side] = make(map[string]int)
	}
	for i, row := range t.rows {
		t.indexes[row.Side][row.Method] = i
	}
	return t, nil
}

// String returns the row as a line of MethodTable, without the line break.
func (r Row) String() string {
	return joinCells(r.Side.String(), r.Method, string(r.Class), string(r.Verdict), strings.Join(r.Rules, " "), r.Since, r.Until, r.Why)
}

// joinCells returns a row of a table, as EachRow reads it.
func joinCells(first string, cells ...string) string {
	for _, cell := range cells {
		first += strings.TrimRight(" | "+cell, " ")
	}
	return first
}

// Lookup returns the row of a method, or false if there is none. The row's slices must not be
// changed. Lookup does not allocate.
func Lookup(side Side, method string) (Row, bool) {
	if side >= sides {
		return Row{}, false
	}
	t := allRows()
	i, ok := t.indexes[side][method]
	if !ok {
		return Row{}, false
	}
	return t.rows[i], true
}

// RunsModel reports whether a request of the client makes the model work, which may run tools.
func (r Row) RunsModel() bool {
	return r.Side == ClientRequest && (r.Class == Turn || r.Class == ModelWork) && r.Verdict == Gate
}

// IsIn reports whether a release of Codex has the method.
func (r Row) IsIn(release string) bool { return IsBetween(release, r.Since, r.Until) }

// IsBetween reports whether a release is among those of the columns since and until.
func IsBetween(release, since, until string) bool {
	return (since == "" || setting.CompareVersions(since, release) <= 0) && (until == "" || setting.CompareVersions(release, until) <= 0)
}

// Rows returns all rows, sorted by side, then method. Their slices must not be changed.
func Rows() iter.Seq[Row] { return slices.Values(allRows().rows) }

// Names returns the methods of a side in all releases, sorted.
func Names(side Side) []string {
	var names []string
	for row := range Rows() {
		if row.Side == side {
			names = append(names, row.Method)
		}
	}
	return names
}

// Diff compares the methods that a Codex has on one side with the rows. It returns methods without
// a row, and rows without a method, except of those that older releases have only. Both are sorted.
func Diff(side Side, names []string) (unknown, gone []string) {
	for _, name := range names {
		if _, ok := Lookup(side, name); !ok {
			unknown = append(unknown, name)
		}
	}
	for row := range Rows() {
		if row.Side == side && row.Until == "" && !slices.Contains(names, row.Method) {
			gone = append(gone, row.Method)
		}
	}
	slices.Sort(unknown)
	return unknown, gone
}

// UnloadNotifications are the notifications that Codex has unloaded a thread. Measured with
// 0.169.0: after thread/archive and thread/delete Codex sends the second and the third, and not
// thread/closed.
var UnloadNotifications = []string{"thread/closed", "thread/archived", "thread/deleted"}

// UnloadRequests are the requests that make Codex unload a thread. Its response may come before
// the notification.
var UnloadRequests = []string{"thread/archive", "thread/delete"}
