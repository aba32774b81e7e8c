package trace

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// coarse is by how much the time of a file may lie before that of what was written to it.
const coarse = 2 * time.Second

// Conversation are the events of one conversation, in the order in which they happened: those
// of the file at path, and those of the other threads that were spoken of in it, whose files
// lie beside it. traceID empty: the last one of the file.
func Conversation(path, traceID string) ([]Event, error) {
	all, err := eventsOf(path, func(Event) bool { return true })
	if err != nil {
		return nil, err
	}
	if traceID == "" && len(all) > 0 {
		traceID = all[len(all)-1].TraceID
	}
	ours := func(e Event) bool { return e.TraceID == traceID }
	all = slices.DeleteFunc(all, func(e Event) bool { return !ours(e) })
	if len(all) == 0 {
		return nil, nil
	}
	began := slices.MinFunc(all, func(a, b Event) int { return a.Time.Compare(b.Time) }).Time
	beside, err := List(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, f := range beside {
		if filepath.Base(f.Path) == filepath.Base(path) || f.Modified.Before(began.Add(-coarse)) {
			continue
		}
		more, err := eventsOf(f.Path, ours)
		if err != nil {
			continue // it is no trace, or gone: what was asked for is the file at path
		}
		all = append(all, more...)
	}
	// What was said before the first thread stands in each file.
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.SourceSeq, b.SourceSeq) })
	return slices.CompactFunc(all, func(a, b Event) bool { return a.SourceSeq == b.SourceSeq }), nil
}

func eventsOf(path string, wanted func(Event) bool) ([]Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var all []Event
	for e, err := range Read(f) {
		if err != nil {
			return nil, err
		}
		if e.Type != Damaged && wanted(e) {
			all = append(all, e)
		}
	}
	return all, nil
}

// Family are the events of a file, and of the subagents that its thread had, as far as their
// files lie beside it: conversation by conversation, in the order in which they happened.
func Family(path string) ([]Event, error) {
	told, err := NewTree(path).Next()
	if err != nil {
		return nil, err
	}
	var all []Event
	for _, one := range told {
		if one.Type != Damaged {
			all = append(all, one.Event)
		}
	}
	return all, nil
}

// agents are the threads that were started by a call, which has ended.
func agents(e Event) []string {
	if e.Type != ToolResult {
		return nil
	}
	s, err := Open(e)
	if err != nil {
		return nil
	}
	list, _ := at(s.Params, "item")["receiverThreadIds"].([]any)
	var all []string
	for _, one := range list {
		if id, ok := one.(string); ok {
			all = append(all, id)
		}
	}
	return all
}
