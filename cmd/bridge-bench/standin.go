//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"codex-bridge/rpc"
)

// The stand-in for codex is this program once more, started as `app-server` by
// the proxy, or between two cats, with these in its environment.
const (
	envLoad    = "BRIDGE_BENCH_LOAD"
	envShort   = "BRIDGE_BENCH_SHORT"
	envCapture = "BRIDGE_BENCH_CAPTURE"
)

// standIn speaks as much app-server as is needed: it answers every request, and
// writes its load when it is told that the client is initialized; some,
// when they are asked for in a turn. The answers are of the size of a line.
type standIn struct {
	name  string
	load  load
	in    *bufio.Reader
	hooks json.RawMessage // of the thread, as hooks/list shows them; nil: none was started
}

func runStandIn(name string) error {
	l, err := loads{short: os.Getenv(envShort) != "", capture: os.Getenv(envCapture)}.load(name)
	if err != nil {
		return err
	}
	s := standIn{name: name, load: l, in: bufio.NewReaderSize(rawFile(0), 64<<10)}
	for {
		line, err := s.in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = s.heard(line)
		}
		if err != nil {
			return err
		}
	}
}

func (s *standIn) heard(line []byte) error {
	switch {
	case bytes.Contains(line, []byte(`"method":"initialized"`)):
		switch {
		case s.name == toolLoad:
			return callTools(s.in)
		case s.load.asked:
			return nil
		}
		return s.load.writeTo(1)
	case s.load.asked:
		return s.converse(line)
	}
	if id := requestID(line); id != nil {
		return writeAll(1, answer(id))
	}
	return nil
}

// requestID finds the id without a decode where the line is one of the bench's
// own: a slow echo would hide what the proxy adds.
func requestID(line []byte) []byte {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"id":`)); ok {
		if id, _, ok := bytes.Cut(rest, []byte{','}); ok {
			return id
		}
	}
	m, err := rpc.ParseMessage(line)
	if err != nil || m.Kind != rpc.Request {
		return nil
	}
	return m.ID.Raw()
}

func answer(id []byte) []byte {
	return pad(lineSize, fmt.Sprintf(`{"id":%s,"result":{"userAgent":"bridge-bench/0.169.0 (stand-in) `, id), `"}}`)
}
