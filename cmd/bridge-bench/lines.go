//go:build linux

package main

import (
	"bytes"
	"fmt"
)

// notifications are 4,000 lines as Codex writes them in a turn: nine of ten are deltas of a
// message. The tenth differs, so that the proxy can't rely on equal starts of lines.
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

// workspace is the folder of the thread.
const workspace = "/home/person/project"

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
		return pad(lineSize, fmt.Sprintf(`{"method":"item/started","params":{"item":{"type":"agentMessage","id":"msg_%06d","text":"`, i),
			fmt.Sprintf(`"},"threadId":"%s","turnId":"%d"},"emittedAtMs":%d}`, thread, i/500, 1790000000000+i))
	case 3:
		return pad(lineSize, fmt.Sprintf(`{"method":"turn/diff/updated","params":{"threadId":"%s","turnId":"%d","diff":"`, thread, i/500), end)
	}
	return pad(lineSize, fmt.Sprintf(`{"method":"thread/tokenUsage/updated","params":{"threadId":"%s","turnId":"%d","total":%d,"note":"`, thread, i/500, i*37), end)
}

const prose = `The bridge keeps each line as it came, and writes runs of lines at once. \n\n- \"quoted\" words and \u00e9scapes - `

// pad returns a line of exactly size bytes: start, prose and end.
func pad(size int, start, end string) []byte {
	line := make([]byte, 0, size)
	line = append(line, start...)
	room := size - 1 - len(start) - len(end)
	for room >= len(prose) {
		line = append(line, prose...)
		room -= len(prose)
	}
	for range room {
		line = append(line, 'x') // a truncated prose could end in an incomplete escape
	}
	return append(append(line, end...), '\n')
}
