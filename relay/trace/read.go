package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// maxLineLen bounds a line: no limit allows a longer event.
const maxLineLen = 64 << 20

// FormatError is the error for a line that is not an event.
type FormatError struct {
	Line int
	Why  string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("line %d is not an event of a trace: %s", e.Line, e.Why)
}

// ReadFile returns the events of a file. It omits a last line without a line end, which is being
// written or was truncated by a crash. For a truncated line before others it returns an event of
// type Damaged. With an error it returns the events before it.
func ReadFile(path string) ([]Event, error) { return (&fileTail{path: path}).next() }

// Events returns the events of ReadFile one by one. The sequence ends at the first error.
func Events(path string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer func() { _ = f.Close() }()
		b := bufio.NewReaderSize(f, 64<<10)
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
		if len(all) > maxLineLen {
			return nil, fmt.Errorf("a line is longer than %d bytes; it is not a trace", maxLineLen)
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

// DecodedEvent is an event with its data decoded.
type DecodedEvent struct {
	Event
	Hop
	Method string
	ID     string // of a request or a response, as JSON
	Params map[string]any
	Result any
	Error  map[string]any
	Fields map[string]any // the data, if it is not a message
}

// Decode decodes the data of an event.
func Decode(e Event) (DecodedEvent, error) {
	s := DecodedEvent{Event: e}
	if err := json.Unmarshal(e.Data, &s.Hop); err != nil {
		return s, fmt.Errorf("the data of event %d (%s) cannot be decoded: %w", e.SourceSeq, e.Type, err)
	}
	if s.Message == nil {
		if err := json.Unmarshal(e.Data, &s.Fields); err != nil {
			return s, fmt.Errorf("the data of event %d (%s) cannot be decoded: %w", e.SourceSeq, e.Type, err)
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
		return s, fmt.Errorf("the message of event %d cannot be decoded: %w", e.SourceSeq, err)
	}
	s.Method, s.ID, s.Result = m.Method, string(m.ID), m.Result
	s.Params, _ = m.Params.(map[string]any)
	s.Error, _ = m.Error.(map[string]any)
	return s, nil
}
