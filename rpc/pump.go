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
type Sieve interface {
	// WantsMethod is asked for notifications and requests.
	WantsMethod(method []byte, request bool) bool
	// WantsAnswer is asked for answers, with the Key of the request.
	WantsAnswer(key []byte) bool
	// WantsAnswers tells whether WantsAnswer would say yes to any key.
	WantsAnswers() bool
}

// LineSieve is a Sieve that wants some notifications of a method and lets others pass.
// It is asked for those that WantsMethod wants, once they are there as a whole, and held
// to the same.
type LineSieve interface {
	WantsLine(method, line []byte) bool
}

// Taker gets the lines that a Sieve wants, in their place among the others: what
// came before has been written, what comes behind has not. A line has no line
// end and is valid during the call. The last one may be unfinished.
type Taker interface {
	Take(line []byte)
	// TakeTooLong gets the first bytes of a wanted line that is longer than the
	// bound. The rest of the line is lost.
	TakeTooLong(start []byte)
}

// Watcher is told what a Pump passes on, just before it is written. What is taken it is not
// told. It must neither wait nor keep the bytes.
type Watcher interface {
	// Passed gets so many whole lines, each with its line end but perhaps the last of all.
	Passed(lines []byte, count int)
	// PassedPart gets a line longer than the buffer in parts. The last one has the line end,
	// unless Codex ended before it, and is empty then.
	PassedPart(part []byte, last bool)
}

// maxLost is how much is kept of a line whose rest is lost: its id and method stand there.
const maxLost = 4096

// PumpBuffer is the size of a Pump's read buffer.
const PumpBuffer = 256 << 10

// Pump carries lines from Codex to the client: those nobody wants in runs, each
// run with one write, straight from the read buffer. A line longer than the
// buffer streams through as it comes, so that memory does not depend on its
// length.
type Pump struct {
	out   Sink
	sieve Sieve
	lines LineSieve // nil: of a method all are wanted, or none
	taker Taker
	watch Watcher // nil: nobody
	max   int

	buf     []byte
	r, w    int // buf[r:w] is read and not carried yet
	scanned int // of the line at r, so much has no line end

	// passed is the start of the last passed notification, to where a request of
	// that method would differ: a stream of deltas is decided by one comparison
	// each. It is empty after each read and after each taken line, because the
	// Sieve may want the method since.
	passed []byte

	start []byte // of the line that may have broken off
	cut   bool   // it has
}

// NewPump makes a Pump. max bounds a line that has to be gathered whole: one that
// is wanted or, for a Sink that is no Streamer, any line.
func NewPump(out Sink, sieve Sieve, taker Taker, max int) *Pump {
	lines, _ := sieve.(LineSieve)
	return &Pump{out: out, sieve: sieve, lines: lines, taker: taker, max: max,
		buf: make([]byte, PumpBuffer), passed: make([]byte, 0, 128)}
}

// Watch has w told what passes. It is called before Run.
func (p *Pump) Watch(w Watcher) { p.watch = w }

// Cut is the start of the last line when that has passed and broke off, because Codex ended
// in the middle of it; else nil. Nobody can have understood it.
func (p *Pump) Cut() []byte {
	if !p.cut {
		return nil
	}
	return p.start
}

// begins keeps the start of a line that may break off.
func (p *Pump) begins(line []byte) { p.start = append(p.start[:0], line[:min(len(line), maxLost)]...) }

// run writes lines that pass.
func (p *Pump) run(lines []byte, count int) {
	if p.watch != nil {
		p.watch.Passed(lines, count)
	}
	p.out.Run(lines)
}

// Run carries everything from in until its end, and returns what Read returned
// unless that is io.EOF. A Sink that fails does not stop it: Codex goes on when
// its client listens no more (measured), so what it says is read and dropped.
func (p *Pump) Run(in io.Reader) error {
	for {
		n, err := in.Read(p.buf[p.w:])
		p.w += n
		p.forget()
		p.carry()
		if p.w-p.r == len(p.buf) && err == nil {
			err = p.long(in)
			p.carry()
		}
		p.w = copy(p.buf, p.buf[p.r:p.w])
		p.r = 0
		if err != nil {
			if line := p.buf[:p.w]; p.w > 0 { // Codex died in mid-line; the client may have use for it
				if p.passes(line, true) {
					p.last(line)
				} else {
					p.taker.Take(line)
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
func (p *Pump) last(line []byte) {
	p.begins(line)
	_, err := ParseValue(line)
	p.cut = err != nil
	if _, parts := p.out.(Streamer); parts || !p.cut {
		p.run(line, 1)
	}
}

// carry carries the whole lines of the buffer.
func (p *Pump) carry() {
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
		if p.passes(line, true) {
			p.r += end + 1
			count++
			continue
		}
		if run < p.r {
			p.run(p.buf[run:p.r], count)
		}
		p.taker.Take(line)
		p.forget()
		p.r += end + 1
		run, count = p.r, 0
	}
	if run < p.r {
		p.run(p.buf[run:p.r], count)
	}
}

// forget has the next notification of any method decided anew.
func (p *Pump) forget() { p.passed = p.passed[:0] }

// passes decides by the start of a line, or by all of it when that is needed and
// there.
func (p *Pump) passes(line []byte, whole bool) bool {
	if p.sieve == nil || (len(p.passed) > 0 && bytes.HasPrefix(line, p.passed)) {
		return true
	}
	g := look(line)
	switch {
	case g.method != nil:
		if p.sieve.WantsMethod(g.method, g.id != nil) {
			return whole && g.id == nil && p.lines != nil && !p.lines.WantsLine(g.method, line)
		}
		// cap(g.method) reaches to the end of line's backing array, so the length of
		// what lies before it is the difference.
		upTo := cap(line) - cap(g.method) + len(g.method) + len(`","p`)
		if g.id == nil && upTo <= len(line) {
			p.passed = append(p.passed[:0], line[:upTo]...)
		}
		return true
	case g.id != nil:
		return !p.sieve.WantsAnswers() || !p.sieve.WantsAnswer(answerKey(g.id))
	case whole:
		return p.passesWhole(line)
	}
	return false
}

// passesWhole decides on a line of no known form. What can't be read is passed:
// the client is no worse off than without us.
func (p *Pump) passesWhole(line []byte) bool {
	if len(bytes.TrimSpace(line)) == 0 {
		return true
	}
	e, err := Open(line)
	switch {
	case err != nil:
		return true
	case e.Method != "":
		return !p.sieve.WantsMethod([]byte(e.Method), e.ID.IsValid())
	}
	return !p.sieve.WantsAnswers() || !p.sieve.WantsAnswer([]byte(e.ID.Key()))
}

// long carries the line that fills the whole buffer, to its end.
func (p *Pump) long(in io.Reader) error {
	if s, ok := p.out.(Streamer); ok && p.passes(p.buf, false) {
		p.part(p.buf, false)
		s.Open(p.buf)
		p.begins(p.buf)
		ended := false
		err := p.rest(in, func(part []byte, last bool) {
			p.part(part, last)
			s.Continue(part)
			ended = last
		})
		if !ended {
			p.part(nil, true)
			p.cut = true
		}
		s.Close()
		return err
	}
	line := gathered(nil, p.buf, p.max)
	tooLong := false
	err := p.rest(in, func(part []byte, _ bool) {
		if tooLong = tooLong || len(line)+len(part) > p.max; !tooLong {
			line = gathered(line, part, p.max)
		}
	})
	switch {
	case tooLong && p.taker != nil:
		p.taker.TakeTooLong(line[:min(len(line), maxLost)])
		p.forget()
	case tooLong:
	case !p.passes(line, true):
		p.taker.Take(bytes.TrimSuffix(line, []byte{'\n'}))
		p.forget()
	case bytes.HasSuffix(line, []byte{'\n'}):
		p.run(line, 1)
	default:
		p.last(line)
	}
	size := cap(line)
	line = nil
	giveBack(size)
	return err
}

func (p *Pump) part(part []byte, last bool) {
	if p.watch != nil {
		p.watch.PassedPart(part, last)
	}
}

// rest reads on to the end of a long line and hands each part to part, the last
// one with the line end. What was read behind it is left in the buffer.
func (p *Pump) rest(in io.Reader, part func(part []byte, last bool)) error {
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
