// Package neovim runs a real Neovim with a screen and keys, for tests and screenshots.
//
// Several goroutines may use a Neovim at the same time. Functions that wait for a condition
// return an error when their context ends.
package neovim

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/neovim/go-client/nvim"
)

// Options configure a Neovim. Program, Dir and Init are required.
type Options struct {
	Program string
	Dir     string
	Env     []string
	Init    string // path of a Lua file that replaces the user's configuration
	Width   int    // columns of the screen; the default is 110
	Height  int    // rows of the screen; the default is 34
}

// Neovim is a running Neovim process.
type Neovim struct {
	client *nvim.Nvim
	screen *Screen

	mu  sync.Mutex
	log []string
}

// Start starts a Neovim and attaches a screen to it. The process ends with ctx or Close.
func Start(ctx context.Context, o Options) (*Neovim, error) {
	if o.Width == 0 {
		o.Width, o.Height = 110, 34
	}
	n := &Neovim{screen: newScreen()}
	client, err := nvim.NewChildProcess(
		nvim.ChildProcessCommand(o.Program),
		nvim.ChildProcessArgs("--embed", "-u", o.Init, "-i", "NONE", "-n"),
		nvim.ChildProcessDir(o.Dir),
		nvim.ChildProcessEnv(o.Env),
		nvim.ChildProcessContext(ctx),
		nvim.ChildProcessLogf(n.logf),
	)
	if err != nil {
		return nil, fmt.Errorf("neovim: %w", err)
	}
	n.client = client
	if err := client.RegisterHandler("redraw", n.screen.redraw); err != nil {
		return nil, fmt.Errorf("neovim: %w", err)
	}
	if err := client.AttachUI(o.Width, o.Height, map[string]any{"ext_linegrid": true, "rgb": true}); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("neovim: attach a screen: %w", err)
	}
	return n, nil
}

func (n *Neovim) logf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log = append(n.log, fmt.Sprintf(format, args...))
}

// Close stops Neovim.
func (n *Neovim) Close() error { return n.client.Close() }

// Screen returns the screen of Neovim.
func (n *Neovim) Screen() *Screen { return n.screen }

// Press sends keys, in the notation of :help key-notation.
func (n *Neovim) Press(keys string) error {
	for len(keys) > 0 {
		written, err := n.client.Input(keys)
		if err != nil {
			return fmt.Errorf("neovim: send keys: %w", err)
		}
		keys = keys[written:]
	}
	return nil
}

// Lua runs code, with args as `...`, and stores its return value in result, which may be
// nil. It blocks while Neovim waits for a key. After an error from ctx, Neovim may still
// write to result.
func (n *Neovim) Lua(ctx context.Context, code string, result any, args ...any) error {
	done := make(chan error, 1)
	go func() { done <- n.client.ExecLua(code, result, args...) }() // returns after Close at the latest
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("neovim: %s: %w", code, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("neovim: %s: no response: %w\n%s", code, ctx.Err(), n.screen.Text())
	}
}

// AwaitText waits until the screen shows all of texts.
func (n *Neovim) AwaitText(ctx context.Context, texts ...string) error {
	for {
		shown, changed := n.screen.snapshot()
		missing := ""
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				missing = text
			}
		}
		if missing == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("neovim: the screen does not show %q: %w\n%s", missing, ctx.Err(), shown)
		}
	}
}

// Await waits until a Lua expression is true.
func (n *Neovim) Await(ctx context.Context, expression string) error {
	for {
		var isTrue bool
		if err := n.Lua(ctx, "return ("+expression+") and true or false", &isTrue); err != nil {
			return err
		}
		if isTrue {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond): // Neovim sends no event for this
		case <-ctx.Done():
			return fmt.Errorf("neovim: %s is still false: %w\n%s", expression, ctx.Err(), n.screen.Text())
		}
	}
}
