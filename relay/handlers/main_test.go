package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
)

// TestMain runs the test binary as the handler, because there may be no shell.
func TestMain(m *testing.M) { bridgetest.Main(m, bridgetest.Role{Name: "handler", Run: handle}) }

func handle(args []string) int {
	how, args := args[0], args[1:]
	switch how {
	case "print": // TEXT
		io.Copy(io.Discard, os.Stdin)
		fmt.Print(args[0])
	case "exit": // CODE, STDERR, STDOUT
		code, _ := strconv.Atoi(args[0])
		fmt.Fprint(os.Stderr, args[1])
		fmt.Print(strings.Join(args[2:], ""))
		return code
	case "keep": // FILE: writes stdin to it
		text, _ := io.ReadAll(os.Stdin)
		os.WriteFile(args[0], text, 0o600)
	case "where": // denies with the folder and the environment as the reason
		dir, _ := os.Getwd()
		fmt.Fprintf(os.Stderr, "%s\n%s", dir, strings.Join(os.Environ(), "\n"))
		return 2
	case "hang": // FILE: created first
		if len(args) > 0 {
			os.WriteFile(args[0], nil, 0o600)
		}
		time.Sleep(time.Hour)
	case "much":
		line := strings.Repeat("x", 1<<16)
		for {
			if _, err := fmt.Println(line); err != nil {
				return 0
			}
		}
	}
	return 0
}

// command is a handler that runs handle with the given arguments.
func command(event hook.Event, how ...string) config.Handler {
	return config.Handler{
		Event: string(event), Command: append([]string{os.Args[0], "handler"}, how...),
		Timeout: config.Duration(time.Minute), Origin: config.Origin{Layer: config.User, File: "/u/config.toml", Line: 7},
	}
}

func hooks(all ...config.Handler) config.Hooks {
	return config.Hooks{On: true, OnFailure: "deny", MaxRevisions: 3, Handlers: all}
}

// call returns a call with some members replaced.
func call(t testing.TB, event hook.Event, members map[string]any) *hook.Call {
	t.Helper()
	all := map[string]any{"session_id": "s", "turn_id": "t", "cwd": t.TempDir(), "hook_event_name": event.Name()}
	if event != hook.Stop {
		all["tool_name"], all["tool_input"] = "Bash", map[string]any{"command": "make"}
	}
	for k, v := range members {
		all[k] = v
	}
	return newCall(t, event, all)
}

func newCall(t testing.TB, event hook.Event, payload any) *hook.Call {
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

// newChain returns a Chain; by default it has no rules, and no client that wants events.
func newChain(o handlers.Options) *handlers.Chain {
	if o.Rules == nil {
		o.Rules = func(context.Context, *hook.Call) handlers.Ruling { return handlers.Ruling{} }
	}
	if o.Confine == nil {
		o.Confine = func(context.Context, *hook.Call) (json.RawMessage, string) { return nil, "" }
	}
	if o.Replaces == nil {
		o.Replaces = func(context.Context, *hook.Call) string { return "" }
	}
	if o.Permits == nil {
		o.Permits = func(context.Context, *hook.Call) bool { return true }
	}
	if o.Consents == nil {
		o.Consents = func(context.Context, *hook.Call) bool { return false }
	}
	if o.AsksPermission == nil {
		o.AsksPermission = func(*hook.Call) bool { return true }
	}
	if o.Client == nil {
		o.Client = deafClient{}
	}
	if o.Failed == nil {
		o.Failed = func(context.Context, *hook.Call, string) {}
	}
	if o.CheckFiles == nil {
		o.CheckFiles = func(string, string, []string) error { return nil }
	}
	if o.Denied == nil {
		o.Denied = func(context.Context, *hook.Call, string) {}
	}
	if o.Dir == nil {
		o.Dir = func(string) string { return "" }
	}
	o.Limiter, o.Log = approvals.NewLimiter(), slog.New(slog.DiscardHandler)
	return handlers.New(o)
}

// deafClient wants no events.
type deafClient struct{ handlers.Client }

func (deafClient) Wants(string) bool { return false }

// client answers with a function.
type client func(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error)

func (client) Wants(string) bool { return true }

func (c client) Hook(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error) {
	return c(ctx, event, payload)
}

func clientWith(text string) client {
	return func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(text), nil
	}
}

var _ handlers.Client = client(nil)
