package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"time"
)

// source is Codex's name for the configuration in a request.
const source = "/<session-flags>/config.toml"

// event is an event of hooks, with its names on the wire.
type event struct{ name, key, label, shown string }

var (
	preToolUse        = event{"PreToolUse", "hooks.PreToolUse", "pre_tool_use", "preToolUse"}
	postToolUse       = event{"PostToolUse", "hooks.PostToolUse", "post_tool_use", "postToolUse"}
	permissionRequest = event{"PermissionRequest", "hooks.PermissionRequest", "permission_request", "permissionRequest"}
	stop              = event{"Stop", "hooks.Stop", "stop", "stop"}
)

// hook is one hook of a thread.
type hook struct {
	event
	command, status, hash string
	matcher               *string // nil: none
	timeout               time.Duration
}

// place returns the key of the hook in hooks.state and hooks/list.
func (h hook) place() string { return source + ":" + h.label + ":0:0" }

// hooksOf returns the trusted and enabled hooks of a thread's configuration. It does not check the
// hash.
func hooksOf(config map[string]json.RawMessage) []hook {
	var states map[string]struct {
		Enabled bool   `json:"enabled"`
		Hash    string `json:"trusted_hash"`
	}
	if json.Unmarshal(config["hooks.state"], &states) != nil {
		return nil
	}
	var all []hook
	for _, e := range []event{preToolUse, postToolUse, permissionRequest, stop} {
		var groups []struct {
			Matcher *string
			Hooks   []struct {
				Command, StatusMessage string
				Timeout                int
			}
		}
		if json.Unmarshal(config[e.key], &groups) != nil || len(groups) == 0 || len(groups[0].Hooks) == 0 {
			continue
		}
		one := groups[0].Hooks[0]
		h := hook{event: e, command: one.Command, status: one.StatusMessage, matcher: groups[0].Matcher, timeout: time.Duration(one.Timeout) * time.Second}
		if state := states[h.place()]; state.Enabled && state.Hash != "" {
			h.hash = state.Hash
			all = append(all, h)
		}
	}
	return all
}

func (s *Server) hooksList(m message) {
	t, f := s.thread(m)
	if f != nil {
		s.respond(m.ID, nil, f)
		return
	}
	list := []any{}
	for i, h := range t.hooks {
		list = append(list, object{
			"key": h.place(), "eventName": h.shown, "handlerType": "command", "command": h.command, "async": false, "matcher": h.matcher,
			"timeoutSec": int(h.timeout.Seconds()), "statusMessage": h.status, "sourcePath": source, "source": "sessionFlags",
			"displayOrder": i, "enabled": true, "isManaged": false, "currentHash": h.hash, "trustStatus": "trusted",
		})
	}
	s.respond(m.ID, object{"data": []any{object{"cwd": t.cwd, "hooks": list, "warnings": []any{}, "errors": []any{}}}}, nil)
}

// runHooks runs the thread's hooks of an event. The reason says why the tool may not run; "" if it
// may. A failed hook does not decide.
func (u *turn) runHooks(ctx context.Context, e event, call string, payload object) (reason string) {
	for _, h := range u.thread.hooks {
		if h.event != e {
			continue
		}
		run := object{
			"id": h.shown + ":" + source + ":" + call, "eventName": h.shown, "handlerType": "command", "executionMode": "sync", "scope": "turn",
			"sourcePath": source, "source": "sessionFlags", "status": "running", "statusMessage": h.status, "startedAt": time.Now().Unix(), "entries": []any{},
		}
		u.notify("hook/started", object{"run": run})
		run["status"] = "completed"
		blocked, err := h.run(ctx, u, payload)
		switch {
		case err != nil:
			run["status"], run["entries"] = "failed", []any{object{"kind": "error", "text": err.Error()}}
		case blocked != "":
			run["status"], run["entries"] = "blocked", []any{object{"kind": "feedback", "text": blocked}}
			reason = blocked
		}
		u.notify("hook/completed", object{"run": run})
	}
	return reason
}

// run starts the hook as Codex does, with the payload on stdin.
func (h hook) run(ctx context.Context, u *turn, payload object) (reason string, err error) {
	about := object{
		"session_id": u.thread.id, "turn_id": u.id, "transcript_path": u.thread.path, "cwd": u.thread.cwd,
		"hook_event_name": h.name, "model": model, "permission_mode": "default",
	}
	for key, value := range payload {
		about[key] = value
	}
	text, err := json.Marshal(about)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	shell := exec.CommandContext(ctx, "/bin/sh", "-c", h.command)
	shell.Dir, shell.Stdin = u.thread.cwd, bytes.NewReader(text)
	said, err := shell.Output()
	if err != nil || len(bytes.TrimSpace(said)) == 0 {
		return "", err
	}
	var output struct {
		Decision, Reason   string
		HookSpecificOutput struct{ PermissionDecision, PermissionDecisionReason string }
	}
	if err := json.Unmarshal(said, &output); err != nil {
		return "", err
	}
	if output.HookSpecificOutput.PermissionDecision == "deny" {
		return output.HookSpecificOutput.PermissionDecisionReason, nil
	}
	return output.Reason, nil
}
