//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"codex-bridge/rpc"
)

// The stand-in for codex is this program once more, started as `app-server` by
// the proxy, or between two cats, with these in its environment.
const (
	envLoad  = "BRIDGE_BENCH_LOAD"
	envShort = "BRIDGE_BENCH_SHORT"
)

// standIn speaks as much app-server as is needed: it answers every request, and
// writes its load when it is told that the client is initialized. The answers are
// of the size of a line.
func standIn(name string) error {
	l, err := newLoad(name, os.Getenv(envShort) != "")
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(rawFile(0), 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if bytes.Contains(line, []byte(`"method":"initialized"`)) {
			if name == toolLoad {
				if err := callTools(in); err != nil {
					return err
				}
				continue
			}
			if err := l.writeTo(1); err != nil {
				return err
			}
			continue
		}
		if id := requestID(line); id != nil {
			if err := writeAll(1, answer(id)); err != nil {
				return err
			}
		}
	}
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

func (l load) writeTo(fd int) error {
	for range l.times {
		for b := l.block; len(b) > 0; {
			n := min(l.piece, len(b))
			if err := writeAll(fd, b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
	}
	return nil
}

// rawFile reads a descriptor with nothing between it and the system: the same
// for the proxy and for cat, and the least that can disturb.
type rawFile int

func (f rawFile) Read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(f), b)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
		b = b[max(n, 0):]
	}
	return nil
}
