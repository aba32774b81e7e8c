//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// chain is a running stand-in for Codex, with the processes between it and the benchmark.
type chain struct {
	in, out *os.File
	procs   []*exec.Cmd
	worker  int // process id of the proxy, or of the cat that forwards the stand-in's output
	cancel  context.CancelFunc
	buf     []byte
}

// deadline ends a chain that hangs.
const deadline = 5 * time.Minute

// starter starts a chain. The environment selects the stand-in's work.
type starter func(t transport, env []string) (*chain, error)

// startProxy starts client ⇄ proxy ⇄ stand-in. The proxy creates the inner pipes.
func (b *bench) startProxy(t transport, env []string) (*chain, error) {
	return b.chain(t, []*exec.Cmd{{Path: b.proxy, Args: []string{"codex-bridge", "app-server"}, Env: env}})
}

// startCats starts client → cat → stand-in → cat → client with pipes: cat takes the place of the
// proxy.
func (b *bench) startCats(t transport, env []string) (*chain, error) {
	return b.chain(t, []*exec.Cmd{
		{Path: b.cat, Args: []string{"cat"}, Env: env},
		{Path: b.self, Args: []string{"codex", "app-server"}, Env: env},
		{Path: b.cat, Args: []string{"cat"}, Env: env},
	})
}

// startStandIn starts client ⇄ stand-in.
func (b *bench) startStandIn(t transport, env []string) (*chain, error) {
	return b.chain(t, []*exec.Cmd{{Path: b.self, Args: []string{"codex", "app-server"}, Env: env}})
}

// program starts client ⇄ program. It drops stderr: the real Codex warns about each new home.
func (b *bench) program(path string, env []string) (*chain, error) {
	return b.chain(pipes, []*exec.Cmd{{Path: path, Args: []string{"codex", "app-server"}, Env: env, Stderr: io.Discard}})
}

// chain starts the commands in a row. They share the benchmark's stderr unless they have their own,
// so that errors of a proxy are visible.
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

func (c *chain) send(line string) error { return writeAll(int(c.in.Fd()), []byte(line+"\n")) }

// line reads one line and expects no bytes after it.
func (c *chain) line() ([]byte, error) {
	for n := 0; ; {
		m, err := rawFile(c.out.Fd()).Read(c.buf[n:])
		if err != nil {
			return nil, fmt.Errorf("no answer: %w", err)
		}
		if n += m; c.buf[n-1] == '\n' {
			return c.buf[:n], nil
		}
	}
}

// close ends the input and waits for all processes: they must exit by themselves, without output.
func (c *chain) close() error {
	rest, err := c.end()
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("output after the end: %.80q", rest)
	}
	return err
}

// end ends the input, waits for all processes, and returns their remaining output.
func (c *chain) end() ([]byte, error) {
	c.in.Close()
	rest, err := io.ReadAll(rawFile(c.out.Fd()))
	for _, p := range c.procs {
		err = errors.Join(err, p.Wait())
	}
	c.out.Close()
	c.cancel()
	return rest, err
}

// kill ends a chain that is broken or no longer needed.
func (c *chain) kill() {
	c.in.Close()
	if c.out != nil {
		c.out.Close()
	}
	c.cancel()
	for _, p := range c.procs {
		_ = p.Wait() // killed above
	}
}
