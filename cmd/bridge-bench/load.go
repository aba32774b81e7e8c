//go:build linux

package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// load is the output of the stand-in for Codex: block, several times.
type load struct {
	block []byte
	times int
	// piece is the size of one write; 0: one write per line, as Codex does (seen with strace,
	// 0.169.0). Larger pieces make the stand-in faster, so that it does not limit the measurement.
	piece int
	// numbers are the offsets in the block of six digits that are another number each time.
	numbers []int
	// onRequest writes the load when a client requests it in a turn: see converse.
	onRequest bool
}

func (l load) size() int { return len(l.block) * l.times }

func (l load) lines() int { return bytes.Count(l.block, []byte{'\n'}) * l.times }

// checksum returns a checksum of the whole load.
func (l load) checksum() uint32 {
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
	lineSize  = 250 // with the line end
	blockSize = 4000
	piece     = 64 << 10
)

// loads creates loads by their names, in the stand-in and in the drain, so that both agree.
type loads struct {
	short   bool
	capture string // file with a captured conversation
}

// The names of loads outside the plan.
const (
	idleLoad   = "idle"
	toolLoad   = "tools" // the stand-in calls a host tool
	streamLoad = "stream"
	pacedLoad  = "pace"
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
	case "each": // the same, with one write per line
		return load{block: notifications(), times: 200_000 / blockSize / part}, nil
	case "long": // 100 lines of 4 MiB
		return load{block: delta(4<<20, 1), times: 100 / part, piece: 4 << 20}, nil
	case "long-few":
		return load{block: delta(4<<20, 1), times: 10 / part, piece: 4 << 20}, nil
	case "huge": // one line of 256 MiB
		return load{block: delta(256<<20, 1), times: 1, piece: 4 << 20}, nil
	case deafClient, deafCodex: // 500 MiB of notifications of 250 bytes
		return load{block: notifications(), times: (500<<20/(blockSize*lineSize) + 1) / part, piece: piece, onRequest: true}, nil
	case streamLoad: // 2 GiB of notifications of 250 bytes
		return load{block: notifications(), times: (2<<30/(blockSize*lineSize) + 1) / part, piece: piece}, nil
	case "talk": // deltas in a turn of a thread
		return load{block: notifications(), times: 1_000_000 / blockSize / part, piece: piece, onRequest: true}, nil
	case "turns":
		return ls.turns(1_000_000/part, piece)
	case pacedLoad: // the stand-in waits between the lines
		return ls.turns(2_000/part, 0)
	case "turns-each":
		return ls.turns(200_000/part, 0)
	}
	return load{}, fmt.Errorf("unknown load %q", name)
}
