package rpc

import (
	"bytes"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// bulk is the least for which the shortcut is taken. Below, its three system
// calls cost more than a copy, and each of its pieces takes a slot of the client's
// pipe, of which there are 16 by default.
const minSplice = 32 << 10

// Join makes of Codex's stdout and the client's the two ends for a Pump, between
// which large runs pass without being copied back into the kernel: what is read is
// kept in a pipe on the side (tee), and a run that nobody wants goes on from there
// (splice). The Pump sees every byte all the same. Measured on pipes, against cat:
// 0.5 to 0.6 of its time and 0.3 to 0.6 of its processor time; with copies, 0.75 and
// 0.95.
//
// It returns what it was given where that can't be: when one of them is no pipe
// or socket, and on systems other than Linux.
func Join(in io.Reader, out io.Writer) (io.Reader, io.Writer) {
	r, w := pipeConn(in), pipeConn(out)
	if r == nil || w == nil {
		return in, out
	}
	var side [2]int
	if unix.Pipe2(side[:], unix.O_CLOEXEC) != nil {
		return in, out
	}
	_, _ = unix.FcntlInt(uintptr(side[1]), unix.F_SETPIPE_SZ, PumpBufferSize) // a smaller one does, too
	j := &joined{in: in, out: out, from: r, to: w, side: side}
	return j, j
}

// conduit is the connection below f when it is a pipe or a socket.
func pipeConn(f any) syscall.RawConn {
	file, ok := f.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return nil
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	return conn
}

// joined is both ends. All but Write belongs to the Pump's goroutine.
type joined struct {
	in       io.Reader
	out      io.Writer
	from, to syscall.RawConn // of in and out

	// side has what the last Read gave, held, from at on. When at is negative it
	// also has the -at bytes that were read before: a Pump has what is left of them
	// right in front of held. What is written between two Reads out of that memory
	// is what was read, since a Pump moves it only just before it reads.
	side   [2]int
	held   []byte
	at     int
	busy   bool // since the last Read there was a run so large that a tee is worth it
	closed bool // side is
}

// Write writes anything, as it is.
func (j *joined) Write(b []byte) (int, error) { return j.out.Write(b) }

// Read implements io.Reader.
func (j *joined) Read(b []byte) (int, error) {
	n, kept := j.teeNext(len(b))
	if n == 0 {
		j.held, j.at = nil, 0
		n, err := j.in.Read(b)
		if err != nil {
			j.close()
		}
		return n, err
	}
	// This much is there, so it doesn't block.
	if m, err := io.ReadFull(j.in, b[:n]); err != nil {
		j.close()
		return m, err
	}
	j.held, j.at = b[:n], -kept
	return n, nil
}

// keep puts the next bytes of the input, up to max, into side, behind the kept
// ones that are still there. n is 0 when it isn't worth it or can't be.
func (j *joined) teeNext(max int) (n, kept int) {
	busy := j.busy
	j.busy = false
	kept = len(j.held) - j.at
	if busy && 0 < kept && kept < minSplice {
		// The start of a line. It must not wait, since side may be full.
		if n = j.tee(max, unix.SPLICE_F_NONBLOCK); n > 0 {
			return n, kept
		}
	}
	if j.discard(kept) && busy {
		n = j.tee(max, 0)
	}
	return n, 0
}

// WriteRun writes what a Pump passes on. What isn't in side, such as the start of a
// line that came with the Read before, is copied, up to a line end: no line is split
// that wouldn't be.
func (j *joined) WriteRun(b []byte) (n int, err error) {
	j.busy = j.busy || len(b) >= minSplice
	start, ok := j.offset(b)
	if !ok {
		return j.out.Write(b)
	}
	if lost := j.at - start; lost > 0 {
		end := lost + bytes.IndexByte(b[lost:], '\n') + 1
		if end == lost {
			return j.out.Write(b)
		}
		if n, err = j.out.Write(b[:end]); err != nil {
			return n, err
		}
		start, b = start+end, b[end:]
	}
	if len(b) >= minSplice && j.discard(start-j.at) {
		for len(b) > 0 {
			m := j.splice(len(b))
			if m <= 0 {
				break // Write knows better what is wrong, if anything is
			}
			j.at += m
			n += m
			b = b[m:]
		}
	}
	if len(b) == 0 {
		return n, nil
	}
	m, err := j.out.Write(b)
	return n + m, err
}

// place is where b starts in held; negative when it starts in front. Both are
// slices of one buffer when they have the same last byte.
func (j *joined) offset(b []byte) (start int, ok bool) {
	if len(j.held) == 0 || len(b) == 0 {
		return 0, false
	}
	whole, held := b[:cap(b)], j.held[:cap(j.held)]
	if &whole[len(whole)-1] != &held[len(held)-1] {
		return 0, false
	}
	start = cap(j.held) - cap(b)
	end := start + len(b)
	return start, end > j.at && end <= len(j.held)
}

// drop forgets the next n bytes of side, and tells whether side can be used.
func (j *joined) discard(n int) bool {
	var b [4096]byte
	for n > 0 && !j.closed {
		m, err := unix.Read(j.side[0], b[:min(n, len(b))])
		switch {
		case err == unix.EINTR:
		case m <= 0:
			j.close()
		default:
			n -= m
			j.at += m
		}
	}
	return !j.closed
}

// tee copies up to n bytes of the input to side, and waits for some unless the
// flags say otherwise. It is 0 when that can't be.
func (j *joined) tee(n, flags int) int {
	var m int64
	err := j.from.Control(func(fd uintptr) { m, _ = unix.Tee(int(fd), j.side[1], n, flags) })
	if err != nil {
		return 0
	}
	return max(0, int(m)) // -1 with an error
}

// splice moves up to n bytes of side to the output.
func (j *joined) splice(n int) int {
	var m int64
	err := j.to.Control(func(fd uintptr) { m, _ = unix.Splice(j.side[0], nil, int(fd), nil, n, 0) })
	if err != nil {
		return 0
	}
	return max(0, int(m)) // -1 with an error
}

func (j *joined) close() {
	if !j.closed {
		j.closed = true
		j.held, j.at = nil, 0
		_ = unix.Close(j.side[0])
		_ = unix.Close(j.side[1])
	}
}
