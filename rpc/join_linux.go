//go:build !portable

package rpc

import (
	"bytes"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// minSplice is the least number of bytes for tee and splice. Below it their three system
// calls cost more than a copy. Each spliced piece also takes a slot of the client's pipe,
// which has 16 by default.
const minSplice = 32 << 10

// Codex writes each notification alone. In a fast stream each read and write of a few lines would
// wake a process, so Read pauses after a read that is a burst: many short lines. Measured with
// 200,000 notifications, relative to cat: 0.87 of its time and 0.71 of its processor time; without
// a pause, 0.95 and 0.92. After one or a few messages there is no pause.
const (
	burstStart = 4 << 10               // bytes of a read that are looked at
	burstLines = 8                     // lines in them that are a burst
	burstSize  = 2 * minSplice         // a read of this size gathers enough without a pause
	burstPause = 50 * time.Microsecond // the kernel adds up to 50 µs
)

// Join returns a reader of in (Codex's stdout) and a writer to out (the client) for one
// Pump. Large runs pass between the two without a copy back into the kernel: tee keeps
// the bytes read in a second pipe, and splice forwards them from there. The Pump still
// sees every byte. Measured on pipes, relative to cat: 0.5 to 0.6 of its time and 0.3 to
// 0.6 of its processor time; with copies, 0.75 and 0.95.
//
// If in or out is not a pipe or socket, or the system is not Linux, Join returns in and out.
func Join(in io.Reader, out io.Writer) (io.Reader, io.Writer) {
	r, w := pipeConn(in), pipeConn(out)
	if r == nil || w == nil {
		return in, out
	}
	var side [2]int
	if unix.Pipe2(side[:], unix.O_CLOEXEC) != nil {
		return in, out
	}
	_, _ = unix.FcntlInt(uintptr(side[1]), unix.F_SETPIPE_SZ, PumpBufferSize) // a smaller pipe works, too
	j := &joined{in: in, out: out, from: r, to: w, side: side, pause: pauseBurst}
	return j, j
}

// pipeConn returns the connection of f if it is a pipe or a socket, else nil.
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

// joined implements both ends. Only Write may be called from another goroutine.
type joined struct {
	in       io.Reader
	out      io.Writer
	from, to syscall.RawConn // of in and out

	// side contains the bytes of the last Read, held, from offset at on. If at is negative,
	// side also contains the last -at bytes of earlier reads: those that the Pump has kept
	// in front of held. The Pump moves its buffer only just before it reads, so until then
	// the memory has the bytes that were read.
	side   [2]int
	held   []byte
	at     int
	busy   bool // since the last Read there was a run large enough for tee
	burst  bool // the last Read was a burst
	pause  func()
	closed bool // whether side is closed
}

// Write writes b to the client.
func (j *joined) Write(b []byte) (int, error) { return j.out.Write(b) }

// Read implements io.Reader.
func (j *joined) Read(b []byte) (int, error) {
	if j.burst {
		j.pause()
	}
	n, err := j.read(b)
	j.burst = n < burstSize && bytes.Count(b[:min(n, burstStart)], []byte{'\n'}) >= burstLines
	return n, err
}

// pauseBurst waits without Go's timers, which are a millisecond late when nothing else runs.
func pauseBurst() {
	t := unix.NsecToTimespec(burstPause.Nanoseconds())
	_ = unix.Nanosleep(&t, nil) // a signal may end it earlier
}

func (j *joined) read(b []byte) (int, error) {
	n, kept := j.teeNext(len(b))
	if n == 0 {
		j.held, j.at = nil, 0
		n, err := j.in.Read(b)
		if err != nil {
			j.close()
		}
		return n, err
	}
	// This much is available, so ReadFull doesn't block.
	if m, err := io.ReadFull(j.in, b[:n]); err != nil {
		j.close()
		return m, err
	}
	j.held, j.at = b[:n], -kept
	return n, nil
}

// teeNext copies up to max of the next input bytes to side, after the kept ones that are
// still there. n is 0 if that is not worth it or not possible.
func (j *joined) teeNext(max int) (n, kept int) {
	busy := j.busy
	j.busy = false
	kept = len(j.held) - j.at
	if busy && 0 < kept && kept < minSplice {
		// The start of a line is kept. A blocking tee could wait for ever, since side may be full.
		if n = j.tee(max, unix.SPLICE_F_NONBLOCK); n > 0 {
			return n, kept
		}
	}
	if j.discard(kept) && busy {
		n = j.tee(max, 0)
	}
	return n, 0
}

// WriteRun writes lines from the Pump. Bytes that are not in side, such as the start of a
// line from an earlier Read, are copied, up to a line end: no line takes two writes because
// of it.
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
				break // Write below reports the error, if there is one
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

// offset returns where b starts in held; negative if it starts before. Both are slices of
// one buffer if their backing arrays have the same last byte.
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

// discard removes the next n bytes of side, and reports whether side can be used.
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

// tee copies up to n bytes of the input to side. Without SPLICE_F_NONBLOCK it waits for
// input. It returns the number of bytes; 0 on failure.
func (j *joined) tee(n, flags int) int {
	var m int64
	err := j.from.Control(func(fd uintptr) { m, _ = unix.Tee(int(fd), j.side[1], n, flags) })
	if err != nil {
		return 0
	}
	return max(0, int(m)) // -1 with an error
}

// splice moves up to n bytes of side to the output. It returns the number; 0 on failure.
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
