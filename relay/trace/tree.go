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

// Told is an event of a thread, or of one of its subagents.
type Told struct {
	Event
	Depth int // 0: the thread's own; 1: a subagent's; 2: a subagent's of it …
	at    position
}

// position is where an event stands among those of a Tree.
type position struct {
	order int // of the conversation
	seq   int64
}

// Tree reads a trace with those of the subagents that its thread had, as far as their files
// lie beside it, and goes on where it was. It is not to be used by several goroutines at once.
type Tree struct {
	Alone bool // without the subagents
	files []*growing
	names map[string]bool
	known map[eventName]bool
	order map[string]int // of the conversations, in the thread's own file
}

// eventName tells an event from all others.
type eventName struct {
	trace string
	seq   int64
}

// NewTree begins at the beginning of a file.
func NewTree(path string) *Tree {
	return &Tree{
		files: []*growing{{path: path}}, names: map[string]bool{filepath.Base(path): true},
		known: make(map[eventName]bool), order: make(map[string]int),
	}
}

// Next are the events that were not read yet, conversation by conversation, in the order in
// which they happened. None means that nothing was written since. With an error come those
// before it.
func (t *Tree) Next() ([]Told, error) {
	var all []Told
	var failed error
	for i := 0; i < len(t.files); i++ { // those of subagents are added
		f := t.files[i]
		events, err := f.next()
		if i == 0 {
			failed = err
		}
		// Without its file there is nothing to see of a subagent, and what is no trace has no more.
		for _, e := range events {
			if told, ok := t.place(f, e); ok {
				all = append(all, told)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Told) int {
		return cmp.Or(cmp.Compare(a.at.order, b.at.order), cmp.Compare(a.at.seq, b.at.seq))
	})
	return all, failed
}

// place tells where an event stands. What was said before the first thread stands in each file,
// and so does what opened another one; of other conversations of a subagent's the thread knows
// nothing.
func (t *Tree) place(f *growing, e Event) (Told, bool) {
	if e.Type == Damaged { // nothing is known of it but what is before it
		e.Time, e.ThreadID = f.time, f.thread
		return Told{e, f.depth, f.last}, f.thread != ""
	}
	order, ours := t.order[e.TraceID]
	if !ours && f.depth == 0 {
		order, ours = len(t.order), true
		t.order[e.TraceID] = order
	}
	name := eventName{e.TraceID, e.SourceSeq}
	if !ours || f.depth > 0 && t.known[name] {
		return Told{}, false
	}
	t.known[name] = true
	f.last, f.time, f.thread = position{order, e.SourceSeq}, e.Time, e.ThreadID
	if t.Alone {
		return Told{e, f.depth, f.last}, true
	}
	for _, thread := range agents(e) {
		if name := FileName(thread); !t.names[name] {
			t.names[name] = true
			t.files = append(t.files, &growing{path: filepath.Join(filepath.Dir(f.path), name), depth: f.depth + 1})
		}
	}
	return Told{e, f.depth, f.last}, true
}

// growing is a file that is read as far as it is written.
type growing struct {
	path  string
	depth int
	at    int64 // how far it was read
	lines int
	// Of the last event of it that was told.
	last   position
	time   time.Time
	thread string
}

// next are the events of the lines that were added and have their end.
func (g *growing) next() ([]Event, error) {
	f, err := os.Open(g.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(g.at, io.SeekStart); err != nil {
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
		e, err := decode(text, g.lines+1)
		if err != nil {
			return all, err
		}
		g.at += int64(len(text))
		g.lines++
		all = append(all, e)
	}
}
