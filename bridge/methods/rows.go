package methods

import (
	"cmp"
	"iter"
	"slices"
)

// all has all rows, sorted by side, then method.
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

// indexes are the indexes of the rows in all.
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

// Lookup returns the row of a method, or false if there is none. The row's Fields must not be
// changed. Lookup does not allocate.
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

// RunsModel reports whether a request of the client makes the model work, which may run tools.
func (r Row) RunsModel() bool {
	return r.Side == ClientRequest && (r.Class == Turn || r.Class == ModelWork) && r.Verdict == Gate
}

// Rows returns all rows, sorted by side, then method. Their Fields must not be changed.
func Rows() iter.Seq[Row] { return slices.Values(all) }

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

// Diff compares the methods that a Codex has on one side with the rows. It returns methods without
// a row, and rows without a method. Both are sorted.
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

// UnloadNotifications are the notifications that Codex has unloaded a thread. Measured with
// 0.169.0: after thread/archive and thread/delete Codex sends the second and the third, and not
// thread/closed.
var UnloadNotifications = []string{"thread/closed", "thread/archived", "thread/deleted"}

// UnloadRequests are the requests that make Codex unload a thread. Its response may come before
// the notification.
var UnloadRequests = []string{"thread/archive", "thread/delete"}
