package leave

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"codex-bridge/lifecycle/acp"
)

const event = "permissionRequest"

// Asker is a client that may want to be asked as a hook would ask it.
type Asker interface {
	Wants(event string) bool
	Hook(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error)
}

// Client is the person at a client, who has so long to answer.
func Client(client Asker, wait func() time.Duration) Person {
	return func(ctx context.Context, a acp.Ask, why string) acp.Answer {
		if !client.Wants(event) {
			return acp.Answer{Reason: "the client does not want to be asked (capabilities.bridge.hooks has no " + event + ")"}
		}
		wait := wait()
		ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("no answer came within %s", wait))
		defer cancel()
		said, err := client.Hook(ctx, event, payload(a, why))
		if err != nil {
			return acp.Answer{Reason: err.Error()}
		}
		var answer struct{ Decision, Reason, Remember string }
		if err := json.Unmarshal(said, &answer); err != nil {
			return acp.Answer{Reason: fmt.Sprintf("the client's answer can't be read: %v", err)}
		}
		return acp.Answer{Allow: answer.Decision == "allow", Lasts: answer.Remember == "session" || answer.Remember == "always", Always: answer.Remember == "always", Reason: answer.Reason}
	}
}

// payload is the question, in the words of Codex's hook and with what the agent has said.
func payload(a acp.Ask, why string) json.RawMessage {
	name, input := a.Kind, map[string]any{"title": a.Title}
	switch {
	case len(a.Files) > 0 && a.Kind != "execute":
		name, input = "apply_patch", map[string]any{"files": a.Files}
	case a.Command != nil:
		name, input = "Bash", map[string]any{"command": *a.Command}
	}
	all := map[string]any{
		"hook_event_name": "PermissionRequest", "session_id": a.Child, "cwd": a.Cwd, "tool_name": name, "tool_input": input, "tool_use_id": a.Call, "acp": a,
	}
	if why != "" {
		all["reason"] = why
	}
	raw, _ := json.Marshal(all) // of texts
	return raw
}
