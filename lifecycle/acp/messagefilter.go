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

// maxLine is the longest message of an agent's, in bytes.
const maxLine = 10 << 20

// sieve reads an agent's output, less its notifications: what it tells of its work it hands
// on itself, one after the other. The protocol's package puts them in a line of 1,024 and
// ends the connection when that is full (measured with 0.13: an agent that says 20,000 words
// at once was cut off); here it is not read on meanwhile. Other notifications nobody needs,
// and lines that are no message some programs write before they begin.
type sieve struct {
	lines  *bufio.Reader
	client *client
	open   <-chan struct{}
	line   []byte // what is left of it
}

func newSieve(from io.Reader, c *client, open <-chan struct{}) *sieve {
	return &sieve{lines: bufio.NewReaderSize(from, 64<<10), client: c, open: open}
}

// Read implements io.Reader.
func (s *sieve) Read(p []byte) (int, error) {
	<-s.open
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

func (s *sieve) next() ([]byte, error) {
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

// passes tells whether a line is for the protocol's package.
func (s *sieve) passes(line []byte) bool {
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
	var told sdk.SessionNotification
	if m.Method == sdk.ClientMethodSessionUpdate && json.Unmarshal(m.Params, &told) == nil {
		_ = s.client.SessionUpdate(context.Background(), told) // never fails
	}
	return false
}
