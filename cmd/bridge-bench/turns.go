//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
)

// captured is what Codex 0.169.0 was seen to write: two turns, in one of them a command.
const captured = "testdata/captures/raw-plain_shell-out.jsonl"

// talkative is how often each delta stands in the load: the scripted model said little.
const talkative = 20

var (
	started = []byte(`{"method":"turn/started",`)
	aDelta  = []byte(`{"method":"item/agentMessage/delta",`)
	ofTurn  = []byte(`"threadId":`)
	uuid    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	fromAPI = regexp.MustCompile(`(?:msg|call)_resp_[0-9]+`)
	counter = []byte("######")
)

// turns are about so many messages of the captured turns, over and over. The thread is the
// bench's; turns and items have new ids each time, or a transcript would keep them once.
func (ls loads) turns(messages, piece int) (load, error) {
	file, err := os.ReadFile(ls.capture)
	if err != nil {
		return load{}, err
	}
	_, id, _ := bytes.Cut(file, []byte(`"threadId":"`))
	if at := bytes.Index(file, started); at < 0 || len(id) < len(thread) {
		return load{}, fmt.Errorf("no turn was captured in %s", ls.capture)
	} else if id = id[:len(thread)]; at > 0 {
		file = file[at:]
	}
	file = bytes.ReplaceAll(file, id, []byte(thread))
	file = uuid.ReplaceAllFunc(file, func(id []byte) []byte {
		if string(id) == thread {
			return id
		}
		return append(bytes.Clone(id[:len(id)-len(counter)]), counter...)
	})
	file = fromAPI.ReplaceAllFunc(file, func(id []byte) []byte { return append(append(bytes.Clone(id), '_'), counter...) })

	l := load{piece: piece, asked: true}
	lines := 0
	for line := range bytes.Lines(file) {
		if !bytes.HasPrefix(line, []byte(`{"method":`)) || !bytes.Contains(line, ofTurn) {
			continue // an answer, or of no thread
		}
		times := 1
		if bytes.HasPrefix(line, aDelta) {
			times = talkative
		}
		for range times {
			l.block = append(l.block, line...)
			lines++
		}
	}
	for at := 0; ; at += len(counter) {
		next := bytes.Index(l.block[at:], counter)
		if next < 0 {
			break
		}
		at += next
		l.numbers = append(l.numbers, at)
	}
	l.times = max(1, messages/lines)
	return l, nil
}
