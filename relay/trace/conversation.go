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
	all, err := eventsOf(path, func(Event) bool { return true })
	if err != nil {
		return nil, err
	}
	seen, order := map[string]bool{filepath.Base(path): true}, make(map[string]int)
	known := make(map[eventName]bool)
	for _, e := range all {
		known[eventName{e.TraceID, e.SourceSeq}] = true
		if _, ok := order[e.TraceID]; !ok {
			order[e.TraceID] = len(order)
		}
	}
	for next := all; len(next) > 0; {
		var more []Event
		for _, child := range agents(next) {
			name := FileName(child)
			if seen[name] {
				continue
			}
			seen[name] = true
			// Without its file there is nothing to see of it. What was said before the first
			// thread stands in each file, and so does what opened another one.
			events, err := eventsOf(filepath.Join(filepath.Dir(path), name), func(e Event) bool {
				_, ours := order[e.TraceID]
				return ours && !known[eventName{e.TraceID, e.SourceSeq}]
			})
			if err == nil {
				more = append(more, events...)
			}
		}
		all, next = append(all, more...), more
	}
	slices.SortStableFunc(all, func(a, b Event) int {
		return cmp.Or(cmp.Compare(order[a.TraceID], order[b.TraceID]), cmp.Compare(a.SourceSeq, b.SourceSeq))
	})
	return all, nil
}

// eventName tells an event from all others.
type eventName struct {
	trace string
	seq   int64
}

// agents are the threads that were started by the calls among events.
func agents(events []Event) []string {
	var all []string
	for _, e := range events {
		if e.Type != ToolResult {
			continue
		}
		s, err := Open(e)
		if err != nil {
			continue
		}
		list, _ := at(s.Params, "item")["receiverThreadIds"].([]any)
		for _, one := range list {
			if id, ok := one.(string); ok {
				all = append(all, id)
			}
		}
	}
	return all
}
