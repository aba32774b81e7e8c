//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// passed is one load through a chain.
type passed struct {
	size int // bytes of the load
	took time.Duration
	cpu  time.Duration // of the worker, meanwhile
	idle int64         // bytes: the worker's memory before
	peak int64         // bytes: the most it had
}

// perByte is the time in ns, so that loads of different sizes can be compared.
func (p passed) perByte() float64 { return float64(p.took) / float64(p.size) }

// speed is in GB/s.
func (p passed) speed() float64 { return float64(p.size) / 1e9 / p.took.Seconds() }

// pass has the stand-in write its load, when it hears trigger, and drains it.
func (c *chain) pass(l load, trigger string, drain func() error) (p passed, err error) {
	p.size = l.size()
	if p.idle, err = memory(c.worker, "VmRSS:"); err != nil {
		return p, err
	}
	before, err := cpuTime(c.worker)
	if err != nil {
		return p, err
	}
	start := time.Now()
	if err := c.send(trigger); err != nil {
		return p, err
	}
	if err := drain(); err != nil {
		return p, err
	}
	p.took = time.Since(start)
	after, err := cpuTime(c.worker)
	if err != nil {
		return p, err
	}
	p.cpu = after - before
	p.peak, err = memory(c.worker, "VmHWM:")
	return p, err
}

// bytesOf drains exactly the load. Every byte is counted; with check they are compared with
// a checksum, too, which takes time of its own.
func (c *chain) bytesOf(l load, check bool) error {
	out := rawFile(c.out.Fd())
	sum := uint32(0)
	for want := l.size(); want > 0; {
		n, err := out.Read(c.buf)
		if err != nil {
			return fmt.Errorf("%d bytes of the load are missing: %w", want, err)
		}
		if n > want {
			return fmt.Errorf("%d bytes too many: %.80q", n-want, c.buf[want:n])
		}
		want -= n
		if check {
			sum = crc32.Update(sum, crcTable, c.buf[:n])
		}
	}
	if check && sum != l.sum() {
		return errors.New("what came through is not what was written")
	}
	return nil
}

// linesOf drains as many lines as the load has: of who changes their bytes.
func (c *chain) linesOf(l load) error {
	out := rawFile(c.out.Fd())
	for want := l.lines(); want > 0; {
		n, err := out.Read(c.buf)
		if err != nil {
			return fmt.Errorf("%d lines of the load are missing: %w", want, err)
		}
		want -= bytes.Count(c.buf[:n], []byte{'\n'})
		if want < 0 {
			return fmt.Errorf("%d lines too many", -want)
		}
	}
	return nil
}

// toEnd drains until the stand-in has said that its load is over. The bridge may say
// things of its own in between.
func (c *chain) toEnd() error {
	out := rawFile(c.out.Fd())
	const tail = 8 << 10
	kept := 0 // bytes at the beginning of the buffer, of the read before
	for {
		n, err := out.Read(c.buf[kept:])
		if err != nil {
			return fmt.Errorf("the end of the load is missing: %w", err)
		}
		n += kept
		last := c.buf[max(0, n-tail):n]
		if bytes.Contains(last, []byte(listed)) {
			return nil
		}
		kept = copy(c.buf, last[max(0, len(last)-len(listed)):])
	}
}

// allOf is toEnd, and compares what was said with the load: as many bytes, and the same, but
// for the lines that are not Codex's.
func (c *chain) allOf(l load) error {
	var rest []byte // of a line
	sum, size := uint32(0), 0
	for {
		n, err := rawFile(c.out.Fd()).Read(c.buf)
		if err != nil {
			return fmt.Errorf("the end of the load is missing: %w", err)
		}
		said := append(rest, c.buf[:n]...)
		end := bytes.LastIndexByte(said, '\n') + 1
		for line := range bytes.Lines(said[:end]) {
			switch {
			case bytes.HasPrefix(line, []byte(listed)):
				if sum != l.sum() || size != l.size() {
					return fmt.Errorf("what came through is not what was written: %d bytes of %d", size, l.size())
				}
				return nil
			case bytes.HasPrefix(line, []byte(`{"method":"bridge/`)):
			default:
				sum, size = crc32.Update(sum, crcTable, line), size+len(line)
			}
		}
		rest = bytes.Clone(said[end:])
	}
}
