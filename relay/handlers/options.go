package handlers

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/hook"
)

// Options configure a Chain. All fields are required.
type Options struct {
	Hooks config.Hooks
	// Rules applies policy's rules. It is called first, and again for each rewritten input.
	Rules func(context.Context, *hook.Call) Ruling
	// Confine is called last, if nothing denied the call. It returns the input to run with
	// (nil: unchanged) or a reason for a denial.
	Confine func(context.Context, *hook.Call) (input json.RawMessage, refusal string)
	// Replaces is called before Codex gets another input for a call. It returns a reason for a denial.
	Replaces func(context.Context, *hook.Call) (refusal string)
	// Permits reports whether an allow for a PermissionRequest may be passed to Codex.
	// Otherwise the answer becomes no opinion.
	Permits func(context.Context, *hook.Call) bool
	// Consents reports whether a rule or a person has accepted the call of a PermissionRequest.
	Consents func(context.Context, *hook.Call) bool
	// AsksPermission reports whether handlers and the client are consulted about a PermissionRequest.
	// Otherwise its hook is only there for Consents.
	AsksPermission func(*hook.Call) bool
	// Client is consulted after the handlers.
	Client Client
	// Dir returns the folder of the thread with the given id, or "" if it is not known.
	// Handlers run there, else in the hook's cwd. For a shell command Codex sets cwd to the
	// working directory that the model asked for (measured), which is no place to look up a
	// handler's files.
	Dir func(thread string) string
	// CheckFiles returns an error if a handler's command names a file in folder that commands of the
	// thread could write. Then the handler fails.
	CheckFiles func(thread, folder string, command []string) error
	// Failed is called with the reason when a handler or the client fails and the call goes on as if it had no
	// opinion: after the call, at a stop, or with on_failure "allow".
	Failed func(ctx context.Context, call *hook.Call, reason string)
	// Denied is called with the reason when a handler denies a call, or a step fails and the call is denied for that.
	Denied func(ctx context.Context, call *hook.Call, reason string)
	// Limiter bounds how often the client is asked about permissions.
	Limiter *approvals.Limiter
	Log     *slog.Logger
}

// Ruling is policy's decision on a call.
type Ruling struct {
	Refusal string // the reason for a denial; "": no denial
	// Person asks a person after all other steps; nil: no person is asked. Only a denial
	// counts. hooks.timeout does not apply.
	Person func(context.Context, *hook.Call) hook.Answer
	// Asks are the people that Person asks. If the rules want others after its answer, these are asked as well.
	Asks policy.People
	// Passed is called last, when nothing has denied the call; nil: nothing is to be done then. It returns
	// the reason for a denial.
	Passed func(context.Context, *hook.Call) (refusal string)
}

// Client is a client that answers hooks.
type Client interface {
	// Wants reports whether the client wants an event: preToolUse, postToolUse,
	// permissionRequest or stop.
	Wants(event string) bool
	// Hook sends bridge/hook with the payload to the client and returns its result. It
	// returns when ctx ends.
	Hook(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error)
}

// ClientName returns the name of an event in the bridge's protocol.
func ClientName(e hook.Event) string { return strings.ToLower(e.Name()[:1]) + e.Name()[1:] }
