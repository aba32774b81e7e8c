//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
)

// captured is a capture of Codex 0.169.0: two turns, one with a command.
const captured = "testdata/captures/raw-plain_shell-out.jsonl"

// talkative is the number of repetitions of each delta, because the scripted model writes few.
const talkative = 20

var (
	started = []byte(`{"method":"turn/started",`)
	aDelta  = []byte(`{"method":"item/agentMessage/delta",`)
	ofTurn  = []byte(`"threadId":`)
	uuid    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	fromAPI = regexp.MustCompile(`(?:msg|call)_resp_[0-9]+`)
	counter = []byte("######")
)

// turns returns about so many messages: the captured turns repeatedly, in the benchmark's thread.
// Turns and items get new ids each time, because a transcript stores an id once.
func (ls loads) turns(messages, piece int) (load, error) {
	file, err := os.ReadFile(ls.capture)
	if err != nil {
		return load{}, err
	}
	_, id, _ := bytes.Cut(file, []byte(`"threadId":"`))
	if at := bytes.Index(file, started); at < 0 || len(id) < len(thread) {
		return load{}, fmt.Errorf("%s has no turn", ls.capture)
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

	l := load{piece: piece, onRequest: true}
	lines := 0
	for line := range bytes.Lines(file) {
		if !bytes.HasPrefix(line, []byte(`{"method":`)) || !bytes.Contains(line, ofTurn) {
			continue // a response, or outside a thread
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
