//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// transport is what the client's end is made of.
type transport string

const (
	pipes   transport = "pipes"
	sockets transport = "socketpairs" // what Node gives its children
)

// pair is a one-way connection: what is written to w is read from r. Both block.
func (t transport) pair() (r, w *os.File, err error) {
	var fds [2]int
	if t == sockets {
		fds, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	} else {
		err = syscall.Pipe2(fds[:], syscall.O_CLOEXEC)
	}
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), string(t)), os.NewFile(uintptr(fds[1]), string(t)), nil
}

// chain is a stand-in for codex that is running, with what lies between it and us.
type chain struct {
	in, out *os.File
	procs   []*exec.Cmd
	worker  int // process id of what carries the stand-in's output: the proxy, or cat
	cancel  context.CancelFunc
	buf     []byte
}

// deadline ends a chain that hangs.
const deadline = 2 * time.Minute

// ours starts client ⇄ proxy ⇄ stand-in. The proxy makes the inner pipes itself.
func (b *bench) ours(t transport, env []string) (*chain, error) {
	return b.chain(t, []*exec.Cmd{{Path: b.proxy, Args: []string{"codex-bridge", "app-server"}, Env: env}})
}

// cats starts client → cat → stand-in → cat → client, with ordinary pipes inside:
// cat sits where the proxy sits.
func (b *bench) cats(t transport, env []string) (*chain, error) {
	return b.chain(t, []*exec.Cmd{
		{Path: b.cat, Args: []string{"cat"}, Env: env},
		{Path: b.self, Args: []string{"codex", "app-server"}, Env: env},
		{Path: b.cat, Args: []string{"cat"}, Env: env},
	})
}

// alone starts client ⇄ stand-in.
func (b *bench) alone(t transport, env []string) (*chain, error) {
	return b.chain(t, []*exec.Cmd{{Path: b.self, Args: []string{"codex", "app-server"}, Env: env}})
}

// program starts client ⇄ program. Nobody hears its stderr: the real codex has
// warnings about each home that is new.
func (b *bench) program(path string, env []string) (*chain, error) {
	return b.chain(pipes, []*exec.Cmd{{Path: path, Args: []string{"codex", "app-server"}, Env: env, Stderr: io.Discard}})
}

// chain starts the commands in a row. They share the bench's stderr, unless they
// have one of their own: a proxy that complains should be heard.
func (b *bench) chain(t transport, cmds []*exec.Cmd) (_ *chain, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	c := &chain{cancel: cancel, buf: b.buf}
	defer func() {
		if err != nil {
			c.kill()
		}
	}()
	stdin, in, err := t.pair()
	if err != nil {
		return nil, err
	}
	c.in = in
	for i, plain := range cmds {
		kind := pipes
		if i == len(cmds)-1 {
			kind = t
		}
		next, stdout, err := kind.pair()
		if err != nil {
			stdin.Close()
			return nil, err
		}
		cmd := exec.CommandContext(ctx, plain.Path)
		cmd.Args, cmd.Env = plain.Args, plain.Env
		cmd.Stdin, cmd.Stdout = stdin, stdout
		if plain.Stderr == nil {
			cmd.Stderr = os.Stderr
		}
		err = cmd.Start()
		stdin.Close()
		stdout.Close()
		stdin, c.out = next, next
		if err != nil {
			next.Close()
			return nil, err
		}
		c.procs = append(c.procs, cmd)
		c.worker = cmd.Process.Pid
	}
	return c, nil
}

// hello is the handshake of the protocol: from here on everything has started.
func (c *chain) hello() error {
	if err := c.send(`{"id":0,"method":"initialize","params":{"clientInfo":{"name":"bridge-bench","title":null,"version":"0.0.0"}}}`); err != nil {
		return err
	}
	return c.line()
}

func (c *chain) send(line string) error { return writeAll(int(c.in.Fd()), []byte(line+"\n")) }

// line reads one line, with nothing behind it.
func (c *chain) line() error {
	for n := 0; ; {
		m, err := rawFile(c.out.Fd()).Read(c.buf[n:])
		if err != nil {
			return fmt.Errorf("no answer: %w", err)
		}
		if n += m; c.buf[n-1] == '\n' {
			return nil
		}
	}
}

// passed is one load through a chain.
type passed struct {
	took time.Duration
	cpu  time.Duration // of the worker, meanwhile
	idle int64         // bytes: the worker's memory before
	peak int64         // bytes: the most it had
}

// pass has the stand-in write its load, and drains it. Every byte is counted; with
// check they are compared with a checksum, too, which takes time of its own.
func (c *chain) pass(l load, check bool) (p passed, err error) {
	if err := c.hello(); err != nil {
		return p, err
	}
	if p.idle, err = memory(c.worker, "VmRSS:"); err != nil {
		return p, err
	}
	before, err := cpuTime(c.worker)
	if err != nil {
		return p, err
	}
	start := time.Now()
	if err := c.send(`{"method":"initialized"}`); err != nil {
		return p, err
	}
	sum, err := c.drain(l.size(), check)
	if err != nil {
		return p, err
	}
	p.took = time.Since(start)
	after, err := cpuTime(c.worker)
	if err != nil {
		return p, err
	}
	p.cpu = after - before
	if p.peak, err = memory(c.worker, "VmHWM:"); err != nil {
		return p, err
	}
	if check && sum != l.sum() {
		return p, errors.New("what came through is not what was written")
	}
	return p, c.close()
}

func (c *chain) drain(want int, check bool) (sum uint32, err error) {
	out := rawFile(c.out.Fd())
	for want > 0 {
		n, err := out.Read(c.buf)
		if err != nil {
			return 0, fmt.Errorf("%d bytes of the load are missing: %w", want, err)
		}
		if n > want {
			return 0, fmt.Errorf("%d bytes too many: %.80q", n-want, c.buf[want:n])
		}
		want -= n
		if check {
			sum = crc32.Update(sum, crcTable, c.buf[:n])
		}
	}
	return sum, nil
}

// close ends the input and waits for everybody: the end must come by itself.
func (c *chain) close() error {
	c.in.Close()
	rest, err := io.ReadAll(rawFile(c.out.Fd()))
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("said after the end: %.80q", rest)
	}
	for _, p := range c.procs {
		err = errors.Join(err, p.Wait())
	}
	c.out.Close()
	c.cancel()
	return err
}

// kill ends a chain that is not needed any more, or broken.
func (c *chain) kill() {
	c.in.Close()
	if c.out != nil {
		c.out.Close()
	}
	c.cancel()
	for _, p := range c.procs {
		_ = p.Wait() // killed
	}
}

// cpuTime is what a process has used, all its threads, user and system, without
// its children; by the clock that the kernel keeps for each process, since the
// ticks of /proc/PID/stat are 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &ts); err != nil {
		return 0, fmt.Errorf("the processor time of a process: %w", err)
	}
	return time.Duration(ts.Nano()), nil
}

// memory is a line of /proc/PID/status, in bytes.
func memory(pid int, field string) (int64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(status, []byte(field))
	words := strings.Fields(string(rest))
	if !ok || len(words) == 0 {
		return 0, fmt.Errorf("no %s in a process's status", field)
	}
	kib, err := strconv.ParseInt(words[0], 10, 64)
	return kib << 10, err
}
