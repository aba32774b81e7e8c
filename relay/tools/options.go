package tools

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"codex-bridge/bridge/config"
)

// Before is asked about a call before it runs: policy's rules, hooks. It may give the
// call other arguments. A refusal is told to the model in place of a result.
type Before func(ctx context.Context, call Call) (next Call, refusal string)

// Handler is given the result of a call that has run, and gives the one that counts: it
// may take out what the model is not to see. When it fails the model sees nothing of the
// result.
type Handler func(ctx context.Context, call Call, result Result) (Result, error)

// After is told of an answer, before Codex is. It must not block.
type After func(ctx context.Context, call Call, answer Answer)

// Options make a Runner. All of them may be left out.
type Options struct {
	Limits   config.ToolLimits // 0: the configuration's defaults
	Before   []Before          // in order; the first refusal counts
	Handlers []Handler         // in order
	After    []After
	// Loops turns on the detection of loops.
	Loops *LoopLimits
	// Poll tells whether a tool is asked again and again by its nature.
	Poll func(namespace, name string) bool
	// Parallel is how many calls of one tool run at once (0: 8); the others wait.
	Parallel int
	Log      *slog.Logger
}

func (o Options) filled() Options {
	defaults := config.Default().ToolLimits
	o.Limits.Timeout = cmp.Or(o.Limits.Timeout, defaults.Timeout)
	o.Limits.MaxTimeout = cmp.Or(o.Limits.MaxTimeout, defaults.MaxTimeout)
	o.Limits.MaxText = cmp.Or(o.Limits.MaxText, defaults.MaxText)
	o.Parallel = cmp.Or(o.Parallel, 8)
	if o.Poll == nil {
		o.Poll = func(string, string) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// timeout is how long a call may take.
func (o Options) timeout(asked, tool time.Duration) time.Duration {
	limit := cmp.Or(asked, tool, time.Duration(o.Limits.Timeout))
	return min(max(limit, time.Millisecond), time.Duration(o.Limits.MaxTimeout))
}
