package rpc

import (
	"bytes"
	"errors"
	"io"
)

// Filter selects the lines from Codex that a Handler gets. Its methods are called for
// every line: they must neither block nor allocate. If the result for a notification
// changes, the Pump may use the old one until the next call of the Handler or the next
// read of Codex's output.
type Filter interface {
	// WantsMethod reports whether the Handler gets notifications, or requests, of a method.
	WantsMethod(method []byte, request bool) bool
	// WantsResponse reports whether the Handler gets the response to the request with this Key.
	WantsResponse(key []byte) bool
	// MayWantResponse reports whether WantsResponse can be true for any key.
	MayWantResponse() bool
}

// Want is the treatment of a notification.
type Want uint8

// The treatments.
const (
	Forward   Want = iota // the client gets the line
	ReadOnly              // the client gets the line, and LineHandler.Read gets the message before
	ToHandler             // only the Handler gets the line
)

// LineHandler is a Filter that also decides single notifications by their content, and can read
// forwarded ones.
type LineHandler interface {
	// WantsLine is called with the whole line of a notification that WantsMethod selects. The
	// rules of Filter apply to it.
	WantsLine(method, line []byte) Want
	// Read gets a notification for which WantsLine returns ReadOnly. The call is in order with
	// those of the Handler and the Observer, which has seen the line. The client gets the line
	// soon afterwards, with the lines around it. The message is valid during the call; Clone keeps it.
	Read(e *Envelope)
	// Written is called after the write of lines that Read got.
	Written()
}

// Handler handles the lines that a Filter selects, in order: earlier lines have been
// written, later ones have not. A line has no line end and is valid during the call. The
// last line may be incomplete.
type Handler interface {
	Handle(line []byte)
	// HandleTooLong gets the first bytes of a selected line that is longer than the Pump's
	// maximum. The rest is discarded.
	HandleTooLong(prefix []byte)
}

// Observer sees the lines that a Pump forwards, just before they are written. It does not
// see lines for the Handler. It must neither block nor keep the bytes.
type Observer interface {
	// ForwardedLines gets count whole lines. Each has a line end, except perhaps Codex's last.
	ForwardedLines(lines []byte, count int)
	// ForwardedPart gets a line longer than the buffer in parts. The last part has the line
	// end. If Codex ended before, the last part is empty.
	ForwardedPart(part []byte, last bool)
}

// maxPrefix is how many bytes are kept of a truncated line: enough for its id and method.
const maxPrefix = 4096

const (
	// PumpBufferSize is the largest size of a Pump's read buffer in bytes.
	PumpBufferSize = 256 << 10
	// firstPumpBuffer is its size until a read fills it.
	firstPumpBuffer = 16 << 10
)

// Pump copies lines from Codex to the client, except those for the Handler. It writes
// consecutive lines with one write, straight from the read buffer, and does not decode
// them. A line longer than the buffer is written in parts, so memory does not depend on
// its length. A Pump must not be used concurrently.
type Pump struct {
	out         Sink
	filter      Filter
	lineHandler LineHandler // nil if the Filter is not one
	handler     Handler
	observer    Observer // may be nil
	max         int

	buf     []byte
	r, w    int // buf[r:w] is read and not forwarded yet
	scanned int // bytes from r that are known to have no line end

	parser parser // of read
	read   Envelope

	// lastForwarded is the start of the last forwarded notification, up to the byte where
	// a request would differ: for a stream of deltas one comparison decides each line. It is
	// cleared after each read and each handled line, since the Filter may want the method then.
	lastForwarded []byte

	prefix    []byte // start of the line that may be truncated
	truncated bool   // whether it is
}

// NewPump returns a Pump. maxLine is the maximum length in bytes of a line that must be in
// memory as a whole: one for the Handler and, if out is not a Streamer, any line. If filter
// is nil all lines are forwarded.
func NewPump(out Sink, filter Filter, handler Handler, maxLine int) *Pump {
	lineHandler, _ := filter.(LineHandler)
	return &Pump{out: out, filter: filter, lineHandler: lineHandler, handler: handler, max: maxLine,
		buf: make([]byte, firstPumpBuffer), lastForwarded: make([]byte, 0, 128)}
}

// Observe sets the Observer. It must be called before Run.
func (p *Pump) Observe(o Observer) { p.observer = o }

// TruncatedLine returns the start of the last line if that was forwarded and incomplete,
// because Codex ended within it; else nil.
func (p *Pump) TruncatedLine() []byte {
	if !p.truncated {
		return nil
	}
	return p.prefix
}

// keepPrefix keeps the start of a line that may be truncated.
func (p *Pump) keepPrefix(line []byte) {
	p.prefix = append(p.prefix[:0], line[:min(len(line), maxPrefix)]...)
}

// forward writes lines to the client.
func (p *Pump) forward(lines []byte, count int) {
	if p.observer != nil {
		p.observer.ForwardedLines(lines, count)
	}
	p.out.WriteLines(lines)
}

// Run copies all lines from in until its end. It returns the error of Read, or nil for
// io.EOF. After the Sink fails, Run reads on and drops the lines, since Codex goes on when
// its client stops reading (measured).
func (p *Pump) Run(in io.Reader) error {
	for {
		n, err := in.Read(p.buf[p.w:])
		p.w += n
		next := p.buf
		if p.w == len(p.buf) && p.w < PumpBufferSize {
			next = make([]byte, min(4*p.w, PumpBufferSize))
		}
		p.forgetForwarded()
		p.processLines()
		if p.w-p.r == PumpBufferSize && err == nil {
			err = p.processLongLine(in)
			p.processLines()
		}
		p.w = copy(next, p.buf[p.r:p.w])
		p.buf, p.r = next, 0
		if err != nil {
			if line := p.buf[:p.w]; p.w > 0 { // Codex ended within a line
				if p.isForwarded(line, true) {
					p.forwardUnended(line)
				} else {
					p.handler.Handle(line)
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// forwardUnended forwards a line without a line end. With header framing an incomplete
// message can't be sent.
func (p *Pump) forwardUnended(line []byte) {
	p.keepPrefix(line)
	_, err := ParseValue(line)
	p.truncated = err != nil
	if _, parts := p.out.(Streamer); parts || !p.truncated {
		p.forward(line, 1)
	}
}

// lineRun is a series of whole lines in the buffer that one write forwards.
type lineRun struct {
	start    int
	observed int  // the end of the lines that the Observer has seen
	count    int  // lines after observed
	read     bool // LineHandler.Read got one of them
}

// processLines forwards or handles the whole lines in the buffer.
func (p *Pump) processLines() {
	run := lineRun{start: p.r, observed: p.r}
	for p.r < p.w {
		end := bytes.IndexByte(p.buf[p.r+p.scanned:p.w], '\n')
		if end < 0 {
			p.scanned = p.w - p.r
			break
		}
		end += p.scanned
		p.scanned = 0
		line, next := p.buf[p.r:p.r+end], p.r+end+1
		want := p.want(line, true)
		if want == ReadOnly && !p.readLine(&run, line) {
			want = ToHandler
		}
		switch want {
		case Forward:
			run.count++
		case ToHandler:
			p.forwardRun(run)
			p.handler.Handle(line)
			p.forgetForwarded()
			run = lineRun{start: next, observed: next}
		}
		p.r = next
	}
	p.forwardRun(run)
}

// readLine passes a line, which the run then ends with, to the LineHandler. It returns false if the
// line is not a notification.
func (p *Pump) readLine(run *lineRun, line []byte) bool {
	if p.read.parse(&p.parser, line) != nil || p.read.ID.IsValid() {
		return false
	}
	if p.observer != nil {
		end := p.r + len(line) + 1
		p.observer.ForwardedLines(p.buf[run.observed:end], run.count+1)
		run.observed, run.count = end, 0
	}
	run.read, p.read.reused = true, true
	p.lineHandler.Read(&p.read)
	p.forgetForwarded()
	return true
}

// forwardRun writes the lines of a run, which ends at p.r.
func (p *Pump) forwardRun(run lineRun) {
	if run.start == p.r {
		return
	}
	if p.observer != nil && run.observed < p.r {
		p.observer.ForwardedLines(p.buf[run.observed:p.r], run.count)
	}
	p.out.WriteLines(p.buf[run.start:p.r])
	if run.read {
		p.lineHandler.Written()
	}
}

// forgetForwarded makes the Filter decide the next notification again.
func (p *Pump) forgetForwarded() { p.lastForwarded = p.lastForwarded[:0] }

// isForwarded reports whether a line that is not in a run is forwarded.
func (p *Pump) isForwarded(line []byte, whole bool) bool { return p.want(line, whole) == Forward }

// want decides by the start of a line. If that is not enough and whole is true, it
// parses the line.
func (p *Pump) want(line []byte, whole bool) Want {
	if p.filter == nil || (len(p.lastForwarded) > 0 && bytes.HasPrefix(line, p.lastForwarded)) {
		return Forward
	}
	g := sniff(line)
	switch {
	case g.method != nil:
		if p.filter.WantsMethod(g.method, g.id != nil) {
			if whole && g.id == nil && p.lineHandler != nil {
				return p.lineHandler.WantsLine(g.method, line)
			}
			return ToHandler
		}
		// cap(g.method) reaches to the end of line's backing array, so the difference of
		// the capacities is the offset of the method.
		upTo := cap(line) - cap(g.method) + len(g.method) + len(`","p`)
		if g.id == nil && upTo <= len(line) {
			p.lastForwarded = append(p.lastForwarded[:0], line[:upTo]...)
		}
		return Forward
	case g.id != nil:
		return toHandlerIf(p.filter.MayWantResponse() && p.filter.WantsResponse(responseKey(g.id)))
	case whole:
		return toHandlerIf(!p.isParsedForwarded(line))
	}
	return ToHandler
}

func toHandlerIf(handled bool) Want {
	if handled {
		return ToHandler
	}
	return Forward
}

// isParsedForwarded decides a line in an unusual form. A line that can't be parsed is
// forwarded, as it would be without the bridge.
func (p *Pump) isParsedForwarded(line []byte) bool {
	if len(bytes.TrimSpace(line)) == 0 {
		return true
	}
	e, err := ParseEnvelope(line)
	switch {
	case err != nil:
		return true
	case e.Method != "":
		return !p.filter.WantsMethod([]byte(e.Method), e.ID.IsValid())
	}
	return !p.filter.MayWantResponse() || !p.filter.WantsResponse([]byte(e.ID.Key()))
}

// processLongLine forwards or handles the line that fills the whole buffer, to its end.
func (p *Pump) processLongLine(in io.Reader) error {
	if s, ok := p.out.(Streamer); ok && p.isForwarded(p.buf, false) {
		p.observePart(p.buf, false)
		s.BeginLine(p.buf)
		p.keepPrefix(p.buf)
		ended := false
		err := p.readRest(in, func(part []byte, last bool) {
			p.observePart(part, last)
			s.ContinueLine(part)
			ended = last
		})
		if !ended {
			p.observePart(nil, true)
			p.truncated = true
		}
		s.EndLine()
		return err
	}
	line := appendLong(nil, p.buf, p.max)
	tooLong := false
	err := p.readRest(in, func(part []byte, _ bool) {
		if tooLong = tooLong || len(line)+len(part) > p.max; !tooLong {
			line = appendLong(line, part, p.max)
		}
	})
	switch {
	case tooLong && p.handler != nil:
		p.handler.HandleTooLong(line[:min(len(line), maxPrefix)])
		p.forgetForwarded()
	case tooLong:
	case !p.isForwarded(line, true):
		p.handler.Handle(bytes.TrimSuffix(line, []byte{'\n'}))
		p.forgetForwarded()
	case bytes.HasSuffix(line, []byte{'\n'}):
		p.forward(line, 1)
	default:
		p.forwardUnended(line)
	}
	size := cap(line)
	line = nil
	releaseMemory(size)
	return err
}

func (p *Pump) observePart(part []byte, last bool) {
	if p.observer != nil {
		p.observer.ForwardedPart(part, last)
	}
}

// readRest reads the rest of a long line and calls part for each piece. The last piece has
// the line end. Bytes after it stay in the buffer.
func (p *Pump) readRest(in io.Reader, part func(part []byte, last bool)) error {
	for {
		n, err := in.Read(p.buf)
		end := bytes.IndexByte(p.buf[:n], '\n')
		if end >= 0 {
			part(p.buf[:end+1], true)
			p.r, p.w, p.scanned = end+1, n, 0
			return err
		}
		if n > 0 {
			part(p.buf[:n], false)
		}
		if err != nil {
			p.r, p.w, p.scanned = 0, 0, 0
			return err
		}
	}
}
