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

	"codex-bridge.example/rpc"
)

// The stand-in for Codex is this program, started as `app-server` by the proxy or between two cats,
// with these variables in its environment.
const (
	envLoad    = "BRIDGE_BENCH_LOAD"
	envShort   = "BRIDGE_BENCH_SHORT"
	envCapture = "BRIDGE_BENCH_CAPTURE"
)

// standIn plays the needed part of the app-server: it responds to every request. It writes its load
// after initialized, or when a client requests it in a turn. Responses have the size of a line.
type standIn struct {
	name  string
	load  load
	in    *bufio.Reader
	hooks json.RawMessage // of the thread, as in hooks/list; nil: no thread
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
		case s.load.onRequest:
			return nil
		}
		return s.load.writeTo(1)
	case s.load.onRequest:
		return s.converse(line)
	}
	if id := requestID(line); id != nil {
		return writeAll(1, answer(id))
	}
	return nil
}

// requestID finds the id of the benchmark's own lines without decoding: a slow stand-in would hide
// the time of the proxy.
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
