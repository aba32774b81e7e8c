package handlers

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"

	"codex-bridge/bridge/config"
	"codex-bridge/relay/grants"
	"codex-bridge/relay/hook"
)

// Options make a Chain. All of them may be left out.
type Options struct {
	Hooks config.Hooks
	// Rules are policy's own; they are asked first, and again for an input that was
	// rewritten.
	Rules func(context.Context, *hook.Call) Ruling
	// Confine has the last word on what nobody is against: with which input it may run, nil
	// for the one it has, or why it must not.
	Confine func(context.Context, *hook.Call) (input json.RawMessage, refusal string)
	// Permits reports whether an allow for a PermissionRequest may be passed to Codex;
	// nil: every allow may. One that may not becomes no opinion.
	Permits func(context.Context, *hook.Call) bool
	// Client is asked last.
	Client Asker
	// Env is the environment of the bridge (nil: os.Environ), of which the handlers
	// get a part.
	Env []string
	// Dir is the folder of a thread, by its id, where handlers run; "" when it is
	// not known. The folder that the hook names is what is left then: for a shell
	// command Codex writes the working directory there that the model asked for
	// (measured), which is no place to look up a handler's files.
	Dir func(thread string) string
	// Limiter bounds how often a person is asked; nil: one of its own.
	Limiter *grants.Limiter
	Log     *slog.Logger
}

// Ruling is what policy says of a call.
type Ruling struct {
	Refusal string // why the tool must not run; "" nothing is against it
	// Person asks a person, once everybody else has been heard; nil: nobody has to be
	// asked. Only a denial of theirs counts. hooks.timeout is not theirs.
	Person func(context.Context, *hook.Call) hook.Answer
}

// Asker is a client that answers hooks.
type Asker interface {
	// Offers tells whether the client wants the event: preToolUse, postToolUse,
	// permissionRequest, stop.
	Offers(event string) bool
	// Ask puts the hook's payload to the client, as bridge/hook, and gives its result.
	// It ends with the context.
	Ask(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error)
}

// asked are the events by the names that clients know.
var asked = map[hook.Event]string{
	hook.PreToolUse: "preToolUse", hook.PostToolUse: "postToolUse", hook.PermissionRequest: "permissionRequest", hook.Stop: "stop",
}

// ClientName is an event by the name that clients know.
func ClientName(e hook.Event) string { return asked[e] }

func (o Options) env() []string {
	if o.Env != nil {
		return o.Env
	}
	return os.Environ()
}
