package methods

import (
	"cmp"
	"slices"
)

// all are the rows, sorted by side, then method.
var all = sorted(
	readRows, threadRows, turnRows, modelWorkRows, executeRows, fileWriteRows, fileReadRows, configurationRows,
	extensionRows, accountRows, remoteRows, stateRows, serverRequestRows, serverNotificationRows,
)

func sorted(groups ...[]Row) []Row {
	rows := slices.Concat(groups...)
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Side, b.Side), cmp.Compare(a.Method, b.Method))
	})
	return rows
}

// places are where a row stands in all.
var indexes = func() [sides]map[string]int {
	var index [sides]map[string]int
	for side := range index {
		index[side] = make(map[string]int)
	}
	for i, row := range all {
		index[row.Side][row.Method] = i
	}
	return index
}()

// Lookup returns the row of a method. It is false for a name that nobody has
// judged. The row's Fields must not be changed. It allocates nothing.
func Lookup(side Side, method string) (Row, bool) {
	if side >= sides {
		return Row{}, false
	}
	i, ok := indexes[side][method]
	if !ok {
		return Row{}, false
	}
	return all[i], true
}

// Rows returns all rows, sorted by side, then method. They are the caller's own.
func Rows() []Row {
	rows := slices.Clone(all)
	for i := range rows {
		rows[i].Fields = slices.Clone(rows[i].Fields)
	}
	return rows
}

// Names returns the methods of a side, sorted.
func Names(side Side) []string {
	var names []string
	for _, row := range all {
		if row.Side == side {
			names = append(names, row.Method)
		}
	}
	return names
}

// Diff holds the names that a codex has on one side against the rows: the names
// without a row, and the rows without a name. Both are sorted.
func Diff(side Side, names []string) (unknown, gone []string) {
	for _, name := range names {
		if _, ok := Lookup(side, name); !ok {
			unknown = append(unknown, name)
		}
	}
	for _, name := range Names(side) {
		if !slices.Contains(names, name) {
			gone = append(gone, name)
		}
	}
	slices.Sort(unknown)
	return unknown, gone
}
