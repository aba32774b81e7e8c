//go:build linux

package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// load is what the stand-in for codex writes: block, times over.
type load struct {
	block []byte
	times int
	// piece is the size of one write; 0: each line has one. Codex writes each line with
	// one write (seen with strace, 0.169.0); larger pieces make the stand-in so fast that
	// it is not what is measured.
	piece int
	// numbers are places in the block where six digits stand that are another number each
	// time.
	numbers []int
	// asked has it written when a client asks for it in a turn: see converse.
	asked bool
}

func (l load) size() int { return len(l.block) * l.times }

func (l load) lines() int { return bytes.Count(l.block, []byte{'\n'}) * l.times }

// sum is a checksum of the whole.
func (l load) sum() uint32 {
	sum := uint32(0)
	for n := range l.times {
		l.number(n)
		sum = crc32.Update(sum, crcTable, l.block)
	}
	return sum
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// number makes the block the n-th one.
func (l load) number(n int) {
	if len(l.numbers) == 0 {
		return
	}
	digits := fmt.Sprintf("%06d", n)
	for _, at := range l.numbers {
		copy(l.block[at:], digits)
	}
}

func (l load) writeTo(fd int) error {
	for n := range l.times {
		l.number(n)
		for b := l.block; len(b) > 0; {
			n := min(l.piece, len(b))
			if l.piece == 0 {
				n = bytes.IndexByte(b, '\n') + 1
			}
			if err := writeAll(fd, b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
	}
	return nil
}

const (
	lineSize  = 250 // with its line end
	blockSize = 4000
	piece     = 64 << 10
)

// loads makes loads by their names. The stand-in and the drain both do, so that they agree
// without a word.
type loads struct {
	short   bool
	capture string // the file with a conversation that was captured
}

// The names of loads that are not only in the plan.
const (
	idleLoad   = "idle"
	toolLoad   = "tools" // the stand-in calls a tool of the host's
	streamLoad = "stream"
)

func (ls loads) load(name string) (load, error) {
	part := 1
	if ls.short {
		part = 10
	}
	switch name {
	case idleLoad, toolLoad:
		return load{}, nil
	case "deltas": // 1,000,000 notifications of 250 bytes
		return load{block: notifications(), times: 1_000_000 / blockSize / part, piece: piece}, nil
	case "deltas-tenth":
		return load{block: notifications(), times: 100_000 / blockSize / part, piece: piece}, nil
	case "each": // the same, every line with a write of its own
		return load{block: notifications(), times: 200_000 / blockSize / part}, nil
	case "long": // 100 lines of 4 MiB
		return load{block: delta(4<<20, 1), times: 100 / part, piece: 4 << 20}, nil
	case "long-few":
		return load{block: delta(4<<20, 1), times: 10 / part, piece: 4 << 20}, nil
	case "huge": // one line of 256 MiB
		return load{block: delta(256<<20, 1), times: 1, piece: 4 << 20}, nil
	case deafClient, deafCodex: // 500 MiB of notifications of 250 bytes
		return load{block: notifications(), times: (500<<20/(blockSize*lineSize) + 1) / part, piece: piece, asked: true}, nil
	case streamLoad: // 2 GiB of notifications of 250 bytes
		return load{block: notifications(), times: (2<<30/(blockSize*lineSize) + 1) / part, piece: piece}, nil
	case "talk": // deltas in a turn of a thread
		return load{block: notifications(), times: 1_000_000 / blockSize / part, piece: piece, asked: true}, nil
	case "turns":
		return ls.turns(1_000_000/part, piece)
	case "turns-each":
		return ls.turns(200_000/part, 0)
	}
	return load{}, fmt.Errorf("no load has the name %q", name)
}
