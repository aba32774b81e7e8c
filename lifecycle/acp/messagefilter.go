package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	sdk "github.com/coder/acp-go-sdk"
)

// maxLine is the maximum size of an agent's message, in bytes.
const maxLine = 10 << 20

// messageFilter reads an agent's output without its notifications. It passes session updates to the
// client itself, one after the other, and does not read on meanwhile. Measured with SDK 0.13: the SDK
// queues 1,024 notifications and closes the connection when the queue is full, so an agent that sent
// 20,000 words at once was cut off. The filter drops other notifications, and lines that are no
// message, which some programs write when they start.
type messageFilter struct {
	lines  *bufio.Reader
	client *client
	ready  <-chan struct{} // Read blocks until it is closed
	line   []byte          // the unread rest of a line
}

func newMessageFilter(from io.Reader, c *client, ready <-chan struct{}) *messageFilter {
	return &messageFilter{lines: bufio.NewReaderSize(from, 64<<10), client: c, ready: ready}
}

// Read implements io.Reader.
func (s *messageFilter) Read(p []byte) (int, error) {
	<-s.ready
	for len(s.line) == 0 {
		line, err := s.next()
		if err != nil {
			return 0, err
		}
		if s.passes(line) {
			s.line = line
		}
	}
	n := copy(p, s.line)
	s.line = s.line[n:]
	return n, nil
}

func (s *messageFilter) next() ([]byte, error) {
	var line []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return nil, fmt.Errorf("it sent a message of more than %d bytes", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// passes reports whether a line is for the SDK. It handles session updates.
func (s *messageFilter) passes(line []byte) bool {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if line = bytes.TrimSpace(line); len(line) == 0 || json.Unmarshal(line, &m) != nil {
		return false
	}
	if m.ID != nil {
		return true
	}
	var update sdk.SessionNotification
	if m.Method == sdk.ClientMethodSessionUpdate && json.Unmarshal(m.Params, &update) == nil {
		_ = s.client.SessionUpdate(context.Background(), update) // never fails
	}
	return false
}
