package main

import (
	"bytes"
	"io"
)

// version is the member that JSON-RPC asks for and Codex leaves out.
const version = `"jsonrpc":"2.0",`

// versioned puts the version into each line that is read, behind its brace, and takes it out
// of what is written, where it stands there. Each Write has to be whole lines.
type versioned struct {
	*pipe
	buf    []byte // of the pipe, from one line's begin to the next
	ready  []byte // to be read
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

// without is a line without the version; lines that end with it have it at the begin.
func without(line []byte) []byte {
	rest, ok := bytes.CutPrefix(line, []byte("{"+version))
	if !ok {
		return line
	}
	return append([]byte{'{'}, rest...)
}

var _ io.ReadWriteCloser = (*versioned)(nil)
