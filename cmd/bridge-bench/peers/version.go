package main

import (
	"bytes"
	"io"
)

// version is the member that JSON-RPC requires and Codex omits.
const version = `"jsonrpc":"2.0",`

// versioned adds the version to each line that it reads, after the brace, and removes it from lines
// that it writes. Each Write must have whole lines.
type versioned struct {
	*pipe
	buf    []byte // from the pipe, up to the next line
	ready  []byte // for the next Read
	inside bool   // of a line
}

// Read implements io.Reader.
func (v *versioned) Read(p []byte) (int, error) {
	if len(v.ready) == 0 {
		if v.buf == nil {
			v.buf = make([]byte, 64<<10)
		}
		n, err := v.pipe.Read(v.buf)
		if n == 0 {
			return 0, err
		}
		v.ready = v.into(v.ready[:0], v.buf[:n])
	}
	n := copy(p, v.ready)
	v.ready = v.ready[n:]
	return n, nil
}

func (v *versioned) into(out, in []byte) []byte {
	for len(in) > 0 {
		if !v.inside && in[0] == '{' {
			out = append(append(out, '{'), version...)
			in = in[1:]
		}
		end := bytes.IndexByte(in, '\n') + 1
		v.inside = end == 0
		if v.inside {
			end = len(in)
		}
		out, in = append(out, in[:end]...), in[end:]
	}
	return out
}

// Write implements io.Writer.
func (v *versioned) Write(p []byte) (int, error) {
	if _, err := v.pipe.Write(without(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// without returns a line without the version; lines with the version have it at the start.
func without(line []byte) []byte {
	rest, ok := bytes.CutPrefix(line, []byte("{"+version))
	if !ok {
		return line
	}
	return append([]byte{'{'}, rest...)
}

var _ io.ReadWriteCloser = (*versioned)(nil)
