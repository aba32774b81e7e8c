//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// passResult is the result of one load through a chain.
type passResult struct {
	size int // bytes of the load
	took time.Duration
	cpu  time.Duration // of the worker, during the load
	idle int64         // bytes: memory of the worker before
	peak int64         // bytes: its maximum memory
}

// perByte returns the time per byte in ns, to compare loads of different sizes.
func (p passResult) perByte() float64 { return float64(p.took) / float64(p.size) }

// speed returns GB/s.
func (p passResult) speed() float64 { return float64(p.size) / 1e9 / p.took.Seconds() }

// pass makes the stand-in write its load by sending trigger, and drains it.
func (c *chain) pass(l load, trigger string, drain func() error) (p passResult, err error) {
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

// bytesOf drains exactly the load and counts its bytes. With check it also compares a checksum,
// which takes time.
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
	if check && sum != l.checksum() {
		return errors.New("the output differs from the load")
	}
	return nil
}

// linesOf drains the number of lines of the load, for peers that change the bytes.
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

// toEnd drains until the stand-in reports the end of its load. The bridge may send messages in
// between.
func (c *chain) toEnd() error {
	out := rawFile(c.out.Fd())
	const tail = 8 << 10
	kept := 0 // bytes at the start of the buffer from the last read
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

// allOf is toEnd, and compares the output with the load, except for lines that are not Codex's.
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
				if sum != l.checksum() || size != l.size() {
					return fmt.Errorf("the output differs from the load: %d bytes of %d", size, l.size())
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
