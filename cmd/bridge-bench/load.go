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
	// piece is the size of one write. Codex writes each line with one write
	// (seen with strace, 0.169.0); larger pieces make the stand-in so fast that it
	// is not what is measured.
	piece int
}

func (l load) size() int { return len(l.block) * l.times }

// sum is a checksum of the whole.
func (l load) sum() uint32 {
	sum := uint32(0)
	for range l.times {
		sum = crc32.Update(sum, crcTable, l.block)
	}
	return sum
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

const (
	lineSize  = 250 // with its line end
	blockSize = 4000
	piece     = 64 << 10
)

// newLoad makes a load by its name. The stand-in and the drain both call it, so
// that they agree without a word.
func newLoad(name string, short bool) (load, error) {
	part := 1
	if short {
		part = 2
	}
	switch name {
	case "idle", "echo", toolLoad:
		return load{}, nil
	case "deltas": // 1,000,000 notifications of 250 bytes
		return load{notifications(), 1000000 / blockSize / part, piece}, nil
	case "each": // the same, every line with a write of its own
		return load{notifications(), 200000 / blockSize / part, lineSize}, nil
	case "long": // 100 lines of 4 MiB
		return load{delta(4<<20, 1), 100 / part, 4 << 20}, nil
	case streamLoad: // 2 GiB of notifications of 250 bytes
		return load{notifications(), 2<<30/(blockSize*lineSize) + 1, piece}, nil
	case "huge": // one line of 256 MiB
		return load{delta(256<<20, 1), 1, 4 << 20}, nil
	}
	return load{}, fmt.Errorf("no load has the name %q", name)
}

// notifications are 4,000 lines as Codex writes them in a turn: nine of ten are
// deltas of a message, the tenth is something else, so that nothing in the proxy
// can live from all lines starting alike.
func notifications() []byte {
	var b bytes.Buffer
	for i := range blockSize {
		if i%10 == 9 {
			b.Write(other(i))
			continue
		}
		b.Write(delta(lineSize, i))
	}
	return b.Bytes()
}

const thread = "01990000-7c1e-7b20-8d3f-5a6b7c8d9e0f"

func delta(size, i int) []byte {
	return pad(size,
		fmt.Sprintf(`{"method":"item/agentMessage/delta","params":{"threadId":"%s","turnId":"%d","itemId":"msg_%06d","delta":"`, thread, i/500, i/100),
		fmt.Sprintf(`"},"emittedAtMs":%d}`, 1790000000000+i))
}

func other(i int) []byte {
	end := fmt.Sprintf(`"},"emittedAtMs":%d}`, 1790000000000+i)
	switch i / 10 % 5 {
	case 0:
		return pad(lineSize, fmt.Sprintf(`{"method":"item/reasoning/summaryTextDelta","params":{"threadId":"%s","turnId":"%d","itemId":"rs_%06d","summaryIndex":0,"delta":"`, thread, i/500, i), end)
	case 1:
		return pad(lineSize, fmt.Sprintf(`{"method":"item/commandExecution/outputDelta","params":{"threadId":"%s","turnId":"%d","itemId":"call_%06d","delta":"`, thread, i/500, i), end)
	case 2:
		return pad(lineSize, fmt.Sprintf(`{"method":"item/started","params":{"threadId":"%s","turnId":"%d","item":{"id":"msg_%06d","type":"agentMessage","text":"`, thread, i/500, i), `"}`+end[1:])
	case 3:
		return pad(lineSize, fmt.Sprintf(`{"method":"turn/diff/updated","params":{"threadId":"%s","turnId":"%d","diff":"`, thread, i/500), end)
	}
	return pad(lineSize, fmt.Sprintf(`{"method":"thread/tokenUsage/updated","params":{"threadId":"%s","turnId":"%d","total":%d,"note":"`, thread, i/500, i*37), end)
}

const prose = `The bridge keeps each line as it came, and writes runs of lines at once. \n\n- \"quoted\" words and \u00e9scapes - `

// pad makes a line of exactly size bytes, of start, as much prose as fits, and end.
func pad(size int, start, end string) []byte {
	line := make([]byte, 0, size)
	line = append(line, start...)
	room := size - 1 - len(start) - len(end)
	for room >= len(prose) {
		line = append(line, prose...)
		room -= len(prose)
	}
	for range room {
		line = append(line, 'x') // not a cut of the prose: it might split an escape
	}
	return append(append(line, end...), '\n')
}
