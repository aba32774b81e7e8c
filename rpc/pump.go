package rpc

import (
	"bytes"
	"errors"
	"io"
)

// Sieve says which lines of Codex somebody wants. It is asked on the hot path:
// it must neither block nor allocate. When its answer for a notification changes,
// the change counts from the next line that the Taker gets or the next read of
// Codex's output on, whichever comes first.
type Filter interface {
	// WantsMethod is asked for notifications and requests.
	WantsMethod(method []byte, request bool) bool
	// WantsAnswer is asked for answers, with the Key of the request.
	WantsResponse(key []byte) bool
	// WantsAnswers tells whether WantsAnswer would say yes to any key.
	MayWantResponse() bool
}

// LineSieve is a Sieve that wants some notifications of a method and lets others pass.
// It is asked for those that WantsMethod wants, once they are there as a whole, and held
// to the same.
type LineFilter interface {
	WantsLine(method, line []byte) bool
}

// Taker gets the lines that a Sieve wants, in their place among the others: what
// came before has been written, what comes behind has not. A line has no line
// end and is valid during the call. The last one may be unfinished.
type Handler interface {
	Handle(line []byte)
	// TakeTooLong gets the first bytes of a wanted line that is longer than the
	// bound. The rest of the line is lost.
	HandleTooLong(start []byte)
}

// Watcher is told what a Pump passes on, just before it is written. What is taken it is not
// told. It must neither wait nor keep the bytes.
type Observer interface {
	// Passed gets so many whole lines, each with its line end but perhaps the last of all.
	ForwardedLines(lines []byte, count int)
	// PassedPart gets a line longer than the buffer in parts. The last one has the line end,
	// unless Codex ended before it, and is empty then.
	ForwardedPart(part []byte, last bool)
}

// maxLost is how much is kept of a line whose rest is lost: its id and method stand there.
const maxPrefix = 4096

// PumpBuffer is the size of a Pump's read buffer.
const PumpBufferSize = 256 << 10

// Pump carries lines from Codex to the client: those nobody wants in runs, each
// run with one write, straight from the read buffer. A line longer than the
// buffer streams through as it comes, so that memory does not depend on its
// length.
type Pump struct {
	out        Sink
	filter     Filter
	lineFilter LineFilter // nil: of a method all are wanted, or none
	handler    Handler
	observer   Observer // nil: nobody
	max        int

	buf     []byte
	r, w    int // buf[r:w] is read and not carried yet
	scanned int // of the line at r, so much has no line end

	// passed is the start of the last passed notification, to where a request of
	// that method would differ: a stream of deltas is decided by one comparison
	// each. It is empty after each read and after each taken line, because the
	// Sieve may want the method since.
	lastForwarded []byte

	prefix    []byte // of the line that may have broken off
	truncated bool   // it has
}

// NewPump makes a Pump. max bounds a line that has to be gathered whole: one that
// is wanted or, for a Sink that is no Streamer, any line.
func NewPump(out Sink, sieve Filter, taker Handler, max int) *Pump {
	lines, _ := sieve.(LineFilter)
	return &Pump{out: out, filter: sieve, lineFilter: lines, handler: taker, max: max,
		buf: make([]byte, PumpBufferSize), lastForwarded: make([]byte, 0, 128)}
}

// Watch has w told what passes. It is called before Run.
func (p *Pump) Observe(w Observer) { p.observer = w }

// Cut is the start of the last line when that has passed and broke off, because Codex ended
// in the middle of it; else nil. Nobody can have understood it.
func (p *Pump) TruncatedLine() []byte {
	if !p.truncated {
		return nil
	}
	return p.prefix
}

// begins keeps the start of a line that may break off.
func (p *Pump) keepPrefix(line []byte) {
	p.prefix = append(p.prefix[:0], line[:min(len(line), maxPrefix)]...)
}

// run writes lines that pass.
func (p *Pump) forward(lines []byte, count int) {
	if p.observer != nil {
		p.observer.ForwardedLines(lines, count)
	}
	p.out.WriteLines(lines)
}

// Run carries everything from in until its end, and returns what Read returned
// unless that is io.EOF. A Sink that fails does not stop it: Codex goes on when
// its client listens no more (measured), so what it says is read and dropped.
func (p *Pump) Run(in io.Reader) error {
	for {
		n, err := in.Read(p.buf[p.w:])
		p.w += n
		p.forgetForwarded()
		p.processLines()
		if p.w-p.r == len(p.buf) && err == nil {
			err = p.processLongLine(in)
			p.processLines()
		}
		p.w = copy(p.buf, p.buf[p.r:p.w])
		p.r = 0
		if err != nil {
			if line := p.buf[:p.w]; p.w > 0 { // Codex died in mid-line; the client may have use for it
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

// last is run for a line without a line end. Where messages are framed a part of one is none.
func (p *Pump) forwardUnended(line []byte) {
	p.keepPrefix(line)
	_, err := ParseValue(line)
	p.truncated = err != nil
	if _, parts := p.out.(Streamer); parts || !p.truncated {
		p.forward(line, 1)
	}
}

// carry carries the whole lines of the buffer.
func (p *Pump) processLines() {
	run, count := p.r, 0
	for p.r < p.w {
		end := bytes.IndexByte(p.buf[p.r+p.scanned:p.w], '\n')
		if end < 0 {
			p.scanned = p.w - p.r
			break
		}
		end += p.scanned
		p.scanned = 0
		line := p.buf[p.r : p.r+end]
		if p.isForwarded(line, true) {
			p.r += end + 1
			count++
			continue
		}
		if run < p.r {
			p.forward(p.buf[run:p.r], count)
		}
		p.handler.Handle(line)
		p.forgetForwarded()
		p.r += end + 1
		run, count = p.r, 0
	}
	if run < p.r {
		p.forward(p.buf[run:p.r], count)
	}
}

// forget has the next notification of any method decided anew.
func (p *Pump) forgetForwarded() { p.lastForwarded = p.lastForwarded[:0] }

// passes decides by the start of a line, or by all of it when that is needed and
// there.
func (p *Pump) isForwarded(line []byte, whole bool) bool {
	if p.filter == nil || (len(p.lastForwarded) > 0 && bytes.HasPrefix(line, p.lastForwarded)) {
		return true
	}
	g := sniff(line)
	switch {
	case g.method != nil:
		if p.filter.WantsMethod(g.method, g.id != nil) {
			return whole && g.id == nil && p.lineFilter != nil && !p.lineFilter.WantsLine(g.method, line)
		}
		// cap(g.method) reaches to the end of line's backing array, so the length of
		// what lies before it is the difference.
		upTo := cap(line) - cap(g.method) + len(g.method) + len(`","p`)
		if g.id == nil && upTo <= len(line) {
			p.lastForwarded = append(p.lastForwarded[:0], line[:upTo]...)
		}
		return true
	case g.id != nil:
		return !p.filter.MayWantResponse() || !p.filter.WantsResponse(responseKey(g.id))
	case whole:
		return p.isParsedForwarded(line)
	}
	return false
}

// passesWhole decides on a line of no known form. What can't be read is passed:
// the client is no worse off than without us.
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

// long carries the line that fills the whole buffer, to its end.
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

// rest reads on to the end of a long line and hands each part to part, the last
// one with the line end. What was read behind it is left in the buffer.
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
