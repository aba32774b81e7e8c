package handlers_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/relay/handlers"
	"codex-bridge/relay/hook"
)

// command is a [[hooks.handler]] that does what handle says.
func command(event hook.Event, how ...string) config.Handler {
	return config.Handler{
		Event: string(event), Command: append([]string{os.Args[0], "handler"}, how...),
		Timeout: config.Duration(time.Minute), Origin: config.Origin{Layer: config.User, File: "/u/config.toml", Line: 7},
	}
}

func hooks(all ...config.Handler) config.Hooks {
	return config.Hooks{On: true, OnFailure: "deny", MaxRevisions: 3, Handlers: all}
}

// call is what Codex would say.
func call(t testing.TB, event hook.Event, members map[string]any) *hook.Call {
	t.Helper()
	all := map[string]any{"session_id": "s", "turn_id": "t", "cwd": t.TempDir(), "hook_event_name": event.Name()}
	if event != hook.Stop {
		all["tool_name"], all["tool_input"] = "Bash", map[string]any{"command": "make"}
	}
	for k, v := range members {
		all[k] = v
	}
	return made(t, event, all)
}

func made(t testing.TB, event hook.Event, payload any) *hook.Call {
	t.Helper()
	text, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	c := &hook.Call{}
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	c.Event, c.Payload = event, text
	return c
}

// client answers as a table says.
type client func(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error)

func (client) Offers(string) bool { return true }

func (c client) Ask(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error) {
	return c(ctx, event, payload)
}

func saying(text string) client {
	return func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(text), nil
	}
}

var _ handlers.Asker = client(nil)
