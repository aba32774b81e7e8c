package neovim

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/neovim/go-client/nvim"
)

// Options of a Neovim. Program, Dir and Init are required.
type Options struct {
	Program string
	Dir     string
	Env     []string
	Init    string // a file of Lua, in place of the user's configuration
	Width   int    // of the screen; 0: 110
	Height  int    // 0: 34
}

// Neovim is one that runs.
type Neovim struct {
	client *nvim.Nvim
	screen *Screen

	mu  sync.Mutex
	log []string
}

// Start starts a Neovim and attaches a screen to it. It ends with ctx, or Close.
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
		return nil, fmt.Errorf("neovim: attaching a screen: %w", err)
	}
	return n, nil
}

func (n *Neovim) logf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log = append(n.log, fmt.Sprintf(format, args...))
}

// Close ends Neovim.
func (n *Neovim) Close() error { return n.client.Close() }

// Screen is what is drawn.
func (n *Neovim) Screen() *Screen { return n.screen }

// Press presses keys, as :help key-notation writes them.
func (n *Neovim) Press(keys string) error {
	for len(keys) > 0 {
		written, err := n.client.Input(keys)
		if err != nil {
			return fmt.Errorf("neovim: pressing keys: %w", err)
		}
		keys = keys[written:]
	}
	return nil
}

// Lua runs code, with args as `...`, and stores what it returns in result, which may be
// nil. While Neovim waits for a key it waits, too; what is still unanswered when ctx ends
// leaves result to Neovim.
func (n *Neovim) Lua(ctx context.Context, code string, result any, args ...any) error {
	done := make(chan error, 1)
	go func() { done <- n.client.ExecLua(code, result, args...) }() // ends with Close at the latest
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("neovim: %s: %w", code, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("neovim: %s: no answer: %w\n%s", code, ctx.Err(), n.screen.Text())
	}
}

// AwaitText waits until the screen shows all of texts.
func (n *Neovim) AwaitText(ctx context.Context, texts ...string) error {
	for {
		shown, changed := n.screen.look()
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

// Await waits until an expression of Lua is true.
func (n *Neovim) Await(ctx context.Context, expression string) error {
	for {
		var holds bool
		if err := n.Lua(ctx, "return ("+expression+") and true or false", &holds); err != nil {
			return err
		}
		if holds {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond): // Neovim tells nobody; it is asked again
		case <-ctx.Done():
			return fmt.Errorf("neovim: %s does not come true: %w\n%s", expression, ctx.Err(), n.screen.Text())
		}
	}
}
