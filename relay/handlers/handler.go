package handlers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge/bridge/child"
	"codex-bridge/bridge/config"
	"codex-bridge/relay/hook"
)

const (
	maxOutput = 1 << 20 // bytes of a handler's stdout
	maxStderr = 4 << 10 // of its stderr
	maxReason = 64 << 10
)

var errLate = errors.New("late")

// handler is a command of the configuration.
func (c *Chain) handler(h config.Handler) step {
	s := step{by: fmt.Sprintf("the hook handler %q", strings.Join(h.Command, " ")), where: h.Origin.String()}
	s.run = func(ctx context.Context, call *hook.Call) (opinion, error) {
		if len(h.Command) == 0 {
			return opinion{}, errors.New("it names no command")
		}
		if limit := time.Duration(h.Timeout); limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, limit, errLate)
			defer cancel()
		}
		r, err := child.Run(ctx, child.Command{
			Args: h.Command, Dir: c.dir(call), Env: c.env, Stdin: call.Payload, Max: maxOutput, Tail: maxStderr,
		})
		said := strings.TrimSpace(strings.ToValidUTF8(string(r.Stderr), "\uFFFD"))
		switch {
		case errors.Is(err, errLate):
			return opinion{}, fmt.Errorf("no answer within its timeout of %s%s", h.Timeout, stderr(said))
		case errors.Is(err, child.ErrTooLong):
			return opinion{}, fmt.Errorf("it wrote more than %d bytes", maxOutput)
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
			return opinion{}, fmt.Errorf("no answer before the hook's time was up%s", stderr(said))
		case err != nil:
			return opinion{}, err
		case r.Code == 2 && said != "":
			return refusal(call.Event, said), nil
		case r.Code < 0:
			return opinion{}, fmt.Errorf("it was ended by a signal%s", stderr(said))
		case r.Code != 0:
			return opinion{}, fmt.Errorf("exit status %d%s", r.Code, stderr(said))
		}
		return fromHandler(call.Event, r.Stdout)
	}
	return s
}

func stderr(said string) string {
	if said == "" {
		return ""
	}
	return "; its last words: " + said
}

// refusal is what a hook says by exit status 2 and a text on stderr, as with Codex.
func refusal(event hook.Event, text string) opinion {
	decision := hook.Deny
	switch event {
	case hook.PostToolUse:
		decision = hook.Block
	case hook.Stop:
		decision = hook.Revise
	}
	return opinion{Answer: hook.Answer{Decision: decision, Reason: text}}
}

// dir is where a handler runs; "": where the bridge does.
func (c *Chain) dir(call *hook.Call) string {
	if c.o.Dir != nil {
		if dir := c.o.Dir(call.Thread()); folder(dir) {
			return dir
		}
	}
	if folder(call.Cwd) {
		return call.Cwd
	}
	return ""
}

func folder(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
