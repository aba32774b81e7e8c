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

// chain is a stand-in for codex that is running, with what lies between it and us.
type chain struct {
	in, out *os.File
	procs   []*exec.Cmd
	worker  int // process id of what carries the stand-in's output: the proxy, or cat
	cancel  context.CancelFunc
	buf     []byte
}

// deadline ends a chain that hangs.
const deadline = 5 * time.Minute

// starter starts a chain. The stand-in is told by the environment what to do.
type starter func(t transport, env []string) (*chain, error)

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

func (c *chain) send(line string) error { return writeAll(int(c.in.Fd()), []byte(line+"\n")) }

// line reads one line, with nothing behind it.
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

// close ends the input and waits for everybody: the end must come by itself, and in
// silence.
func (c *chain) close() error {
	rest, err := c.end()
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("said after the end: %.80q", rest)
	}
	return err
}

// end ends the input and waits for everybody. It returns what was said meanwhile.
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
