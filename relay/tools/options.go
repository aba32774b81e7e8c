package tools

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"codex-bridge.example/bridge/config"
)

// Before runs before a call, such as policy rules or hooks. It may change the arguments.
// The model gets a refusal instead of a result.
type Before func(ctx context.Context, call Call) (next Call, refusal string)

// Handler gets a call's result and returns the one to use; it may remove parts. If it
// fails, the model sees nothing of the result.
type Handler func(ctx context.Context, call Call, result Result) (Result, error)

// After gets an answer before Codex does. It must not block.
type After func(ctx context.Context, call Call, answer Answer)

// Options configure a Runner. All fields are optional.
type Options struct {
	Limits   config.ToolLimits // 0: the configuration's defaults
	Before   []Before          // in order; the first refusal counts
	Handlers []Handler         // in order
	After    []After
	Log      *slog.Logger
}

func (o Options) withDefaults() Options {
	defaults := config.Default().ToolLimits
	o.Limits.Timeout = cmp.Or(o.Limits.Timeout, defaults.Timeout)
	o.Limits.MaxTimeout = cmp.Or(o.Limits.MaxTimeout, defaults.MaxTimeout)
	o.Limits.MaxText = cmp.Or(o.Limits.MaxText, defaults.MaxText)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// timeout returns the timeout of a call: requested, the tool's own, or the default.
func (o Options) timeout(asked, tool time.Duration) time.Duration {
	limit := cmp.Or(asked, tool, time.Duration(o.Limits.Timeout))
	return min(max(limit, time.Millisecond), time.Duration(o.Limits.MaxTimeout))
}
