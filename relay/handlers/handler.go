package handlers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/hook"
)

const (
	maxOutput = 1 << 20 // bytes of a handler's stdout
	maxStderr = 4 << 10 // bytes of a handler's stderr
	maxReason = 64 << 10
)

var errTimeout = errors.New("late")

// handlerStep returns the step that runs a configured command.
func (c *Chain) handlerStep(h config.Handler) step {
	s := step{name: fmt.Sprintf("the hook handler %q", strings.Join(h.Command, " ")), origin: h.Origin.String()}
	s.run = func(ctx context.Context, call *hook.Call) (opinion, error) {
		if len(h.Command) == 0 {
			return opinion{}, errors.New("its command is empty")
		}
		if limit := time.Duration(h.Timeout); limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, limit, errTimeout)
			defer cancel()
		}
		folder := c.handlerDir(call)
		if err := c.options.CheckFiles(call.Thread(), folder, h.Command); err != nil {
			return opinion{}, err
		}
		r, err := child.Run(ctx, child.Command{
			Args: h.Command, Dir: folder, Env: c.env, Stdin: call.Payload, MaxStdout: maxOutput, MaxStderr: maxStderr,
		})
		stderrText := strings.TrimSpace(strings.ToValidUTF8(string(r.Stderr), "\uFFFD"))
		switch {
		case errors.Is(err, errTimeout):
			return opinion{}, fmt.Errorf("no answer within its timeout of %s%s", h.Timeout, stderrSuffix(stderrText))
		case errors.Is(err, child.ErrTooLong):
			return opinion{}, fmt.Errorf("it wrote more than %d bytes", maxOutput)
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
			return opinion{}, fmt.Errorf("no answer before the hook's time was up%s", stderrSuffix(stderrText))
		case err != nil:
			return opinion{}, err
		case r.Code == 2 && stderrText != "":
			return exitRefusal(call.Event, stderrText), nil
		case r.Code < 0:
			return opinion{}, fmt.Errorf("it was ended by a signal%s", stderrSuffix(stderrText))
		case r.Code != 0:
			return opinion{}, fmt.Errorf("exit status %d%s", r.Code, stderrSuffix(stderrText))
		}
		return parseHandlerOutput(call.Event, r.Stdout)
	}
	return s
}

func stderrSuffix(stderrText string) string {
	if stderrText == "" {
		return ""
	}
	return "; stderr: " + stderrText
}

// exitRefusal returns the opinion for exit status 2 with a text on stderr, as Codex
// interprets it.
func exitRefusal(event hook.Event, text string) opinion {
	decision := hook.Deny
	switch event {
	case hook.PostToolUse:
		decision = hook.Block
	case hook.Stop:
		decision = hook.Revise
	}
	return opinion{Answer: hook.Answer{Decision: decision, Reason: text}}
}

// handlerDir returns the folder in which a handler runs; "" means the bridge's own.
func (c *Chain) handlerDir(call *hook.Call) string {
	for _, dir := range []string{c.options.Dir(call.Thread()), call.Cwd} {
		if isDir(dir) {
			return dir
		}
	}
	return ""
}

func isDir(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
