package trace

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// TreeEvent is an event of a thread or of one of its subagents.
type TreeEvent struct {
	Event
	Depth    int // 0: of the thread; 1: of its subagent; 2: of a subagent's subagent …
	position position
}

// position orders the events of a Tree.
type position struct {
	conversation int
	seq          int64
}

// Tree reads a trace and those of the subagents of its thread, whose files are in the same folder. It
// can go on reading while the files grow. It belongs to one goroutine.
type Tree struct {
	Alone         bool // omit the subagents
	files         []*fileTail
	names         map[string]bool // of files
	seen          map[eventKey]bool
	conversations map[string]int // in the file of the thread, in their order
}

// eventKey identifies an event.
type eventKey struct {
	trace string
	seq   int64
}

// NewTree returns a Tree that starts at the beginning of a file.
func NewTree(path string) *Tree {
	return &Tree{
		files: []*fileTail{{path: path}}, names: map[string]bool{filepath.Base(path): true},
		seen: make(map[eventKey]bool), conversations: make(map[string]int),
	}
}

// Next returns the events that were written since the last call, ordered by conversation, then by
// number. With an error it returns the events before it.
func (t *Tree) Next() ([]TreeEvent, error) {
	var all []TreeEvent
	var failed error
	for i := 0; i < len(t.files); i++ { // add appends the files of subagents
		f := t.files[i]
		events, err := f.next()
		if i == 0 {
			failed = err // the file of a subagent may be deleted, or not a trace
		}
		for _, e := range events {
			if te, ok := t.add(f, e); ok {
				all = append(all, te)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b TreeEvent) int {
		return cmp.Or(cmp.Compare(a.position.conversation, b.position.conversation), cmp.Compare(a.position.seq, b.position.seq))
	})
	return all, failed
}

// add returns the event of a file with its position. It returns false for an event that is in
// several files, such as one before the first thread, and has been returned; and for an event of a
// conversation that has the subagent, but not the thread.
func (t *Tree) add(f *fileTail, e Event) (TreeEvent, bool) {
	if e.Type == Damaged { // it has the position of the event before it
		e.Time, e.ThreadID = f.time, f.thread
		return TreeEvent{e, f.depth, f.last}, f.thread != ""
	}
	conversation, known := t.conversations[e.TraceID]
	if !known && f.depth == 0 {
		conversation, known = len(t.conversations), true
		t.conversations[e.TraceID] = conversation
	}
	key := eventKey{e.TraceID, e.SourceSeq}
	if !known || f.depth > 0 && t.seen[key] {
		return TreeEvent{}, false
	}
	t.seen[key] = true
	f.last, f.time, f.thread = position{conversation, e.SourceSeq}, e.Time, e.ThreadID
	if t.Alone {
		return TreeEvent{e, f.depth, f.last}, true
	}
	for _, thread := range subagentIDs(e) {
		if name := FileName(thread); !t.names[name] {
			t.names[name] = true
			t.files = append(t.files, &fileTail{path: filepath.Join(filepath.Dir(f.path), name), depth: f.depth + 1})
		}
	}
	return TreeEvent{e, f.depth, f.last}, true
}

// fileTail reads a file that may grow.
type fileTail struct {
	path   string
	depth  int
	offset int64 // of the first unread byte
	lines  int   // that were read
	// Of the last event.
	last   position
	time   time.Time
	thread string
}

// next returns the events of the complete lines that were added.
func (t *fileTail) next() ([]Event, error) {
	f, err := os.Open(t.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(t.offset, io.SeekStart); err != nil {
		return nil, err
	}
	var all []Event
	for b := bufio.NewReaderSize(f, 64<<10); ; {
		text, err := readLine(b)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		e, err := decode(text, t.lines+1)
		if err != nil {
			return all, err
		}
		t.offset += int64(len(text))
		t.lines++
		all = append(all, e)
	}
}
