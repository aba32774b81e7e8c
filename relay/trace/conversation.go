package trace

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"
)

// mtimeSlack is how much earlier than its last event the modification time of a file may be.
const mtimeSlack = 2 * time.Second

// Conversation returns the events of one conversation in their order: those of the file at path,
// and those of its other threads, whose files are in the same folder. If traceID is "", the
// conversation is the last one of the file.
func Conversation(path, traceID string) ([]Event, error) {
	all, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	others := func(e Event) bool { return e.Type == Damaged || e.TraceID != traceID }
	if traceID == "" {
		for _, e := range all {
			traceID = cmp.Or(e.TraceID, traceID)
		}
	}
	all = slices.DeleteFunc(all, others)
	if len(all) == 0 {
		return nil, nil
	}
	began := slices.MinFunc(all, func(a, b Event) int { return a.Time.Compare(b.Time) }).Time
	beside, err := List(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, f := range beside {
		if filepath.Base(f.Path) == filepath.Base(path) || f.Modified.Before(began.Add(-mtimeSlack)) {
			continue
		}
		more, err := ReadFile(f.Path)
		if err != nil {
			continue // not a trace, or deleted
		}
		all = append(all, slices.DeleteFunc(more, others)...)
	}
	// Events before the first thread are in each file.
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.SourceSeq, b.SourceSeq) })
	return slices.CompactFunc(all, func(a, b Event) bool { return a.SourceSeq == b.SourceSeq }), nil
}

// WithSubagents returns the events of a file and of the subagents of its thread, whose files are in
// the same folder. They are ordered by conversation, then by number.
func WithSubagents(path string) ([]Event, error) {
	events, err := NewTree(path).Next()
	if err != nil {
		return nil, err
	}
	var all []Event
	for _, one := range events {
		if one.Type != Damaged {
			all = append(all, one.Event)
		}
	}
	return all, nil
}

// subagentIDs returns the ids of the threads that a completed call has started.
func subagentIDs(e Event) []string {
	if e.Type != ToolResult {
		return nil
	}
	s, err := Decode(e)
	if err != nil {
		return nil
	}
	return texts(object(s.Params, "item")["receiverThreadIds"], textOf)
}
