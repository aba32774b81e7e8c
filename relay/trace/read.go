package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// longest is the length from which on a line is no event: well above any limit.
const longest = 64 << 20

// FormatError is a line that is no event.
type FormatError struct {
	Line int
	Why  string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("line %d is no event of a trace: %s", e.Line, e.Why)
}

// Read are the events of a file. A last line without its end is being written, or was cut
// by a crash: it is left out. One that was cut and has others behind it is Damaged. The Event's data is its own.
func Read(in io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		b := bufio.NewReaderSize(in, 64<<10)
		for n := 1; ; n++ {
			text, err := readLine(b)
			if errors.Is(err, io.EOF) {
				return
			}
			var e Event
			if err == nil {
				e, err = decode(text, n)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func readLine(b *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := b.ReadSlice('\n')
		all = append(all, part...)
		if err == nil {
			return all, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(all) > longest {
			return nil, fmt.Errorf("a line is longer than %d bytes; it is no trace", longest)
		}
	}
}

func decode(text []byte, n int) (Event, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		if n > 1 && !json.Valid(text) {
			return Event{Type: Damaged, Data: json.RawMessage("{}")}, nil
		}
		return Event{}, &FormatError{n, err.Error()}
	}
	if l.TraceSchema != Schema {
		return Event{}, &FormatError{n, fmt.Sprintf("its traceSchema is %q, not %q", l.TraceSchema, Schema)}
	}
	if l.SchemaVersion != SchemaVersion {
		return Event{}, &FormatError{n, fmt.Sprintf("its version is %d, this program reads %d", l.SchemaVersion, SchemaVersion)}
	}
	return l.Event, nil
}

// Step is an event with its data read.
type Step struct {
	Event
	Hop
	Method string
	ID     string // of a request or an answer, as JSON
	Params map[string]any
	Result any
	Error  map[string]any
	Notes  map[string]any // the data, where it is no message
}

// Open reads the data of an event.
func Open(e Event) (Step, error) {
	s := Step{Event: e}
	if err := json.Unmarshal(e.Data, &s.Hop); err != nil {
		return s, fmt.Errorf("the data of event %d (%s) can't be read: %w", e.SourceSeq, e.Type, err)
	}
	if s.Message == nil {
		if err := json.Unmarshal(e.Data, &s.Notes); err != nil {
			return s, fmt.Errorf("the data of event %d (%s) can't be read: %w", e.SourceSeq, e.Type, err)
		}
		return s, nil
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params any
		Result any
		Error  any
	}
	if err := json.Unmarshal(s.Message, &m); err != nil {
		return s, fmt.Errorf("the message of event %d can't be read: %w", e.SourceSeq, err)
	}
	s.Method, s.ID, s.Result = m.Method, string(m.ID), m.Result
	s.Params, _ = m.Params.(map[string]any)
	s.Error, _ = m.Error.(map[string]any)
	return s, nil
}
