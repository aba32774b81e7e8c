// Package canary has the conversations that each release of Codex must pass, with the scripted model:
// `codex-bridge codex check` runs them for a user, and the end-to-end tests for each release.
package canary

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// Policy is the configuration of the conversations under a policy.
const Policy = `
[policy]
mode = "enforce"
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
escalation = "ask"

[[policy.rule]]
command = "touch forbidden"
decision = "deny"
reason = "Not this file."

[[policy.rule]]
command = "./allowed.sh"
decision = "allow"

[tools.weather]
description = "Tells the weather."
command = ["/bin/sh", "-c", "cat > asked; echo sunny"]
`

// Row is one conversation.
type Row struct {
	Name string // without spaces at its ends, and stable
	Does string // in words, for a user
	// UnderPolicy means that the row makes sense with Policy only.
	UnderPolicy bool

	play func(*talk) error
}

// Play runs the conversation in a place. An error says what does not work.
func (r Row) Play(ctx context.Context, p Place) error {
	t := &talk{ctx: ctx, Place: p}
	err := t.open()
	if err == nil {
		err = r.play(t)
	}
	if closeErr := t.close(); err == nil {
		err = closeErr
	}
	return err
}

// Place is where a conversation happens.
type Place struct {
	Workspace string // a repository; the folder above it is outside of the sandbox
	State     string // the state folder of the bridge
	Model     *scripted.Server
	// Start starts the server of an editor in the workspace. It sets the program, its environment and its folder.
	Start func(editor.Options) (*editor.Editor, error)
}

// talk is a running conversation.
type talk struct {
	ctx context.Context
	Place
	editor *editor.Editor // nil: closed

	mu    sync.Mutex
	asked []string // the reasons of the questions in this turn
}

// closeTime is how long the server may take to end after its input.
const closeTime = 20 * time.Second

func (t *talk) open() (err error) {
	t.editor, err = t.Start(editor.Options{Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.asked = append(t.asked, m.Param("reason"))
		return accept(m), nil
	}})
	if err != nil {
		return err
	}
	if _, err := t.editor.Initialize(t.ctx, nil); err != nil {
		return fmt.Errorf("initialize: %w; stderr: %.500q", err, t.editor.Stderr())
	}
	return nil
}

func (t *talk) close() error {
	if t.editor == nil {
		return nil
	}
	exit := t.editor.Close(closeTime)
	t.editor = nil
	if exit != (editor.Exit{}) {
		return fmt.Errorf("the server ended with %s", exit)
	}
	return nil
}

// accept returns the longest yes among the options of a question.
func accept(m editor.Message) any {
	var params struct{ AvailableDecisions []json.RawMessage }
	if json.Unmarshal(m.Params, &params) == nil {
		for _, wish := range []string{"acceptWith", "acceptForSession"} {
			for _, offered := range params.AvailableDecisions {
				if strings.Contains(string(offered), wish) {
					return object{"decision": offered}
				}
			}
		}
	}
	return object{"decision": "accept"}
}

type object = map[string]any

func (t *talk) call(method string, params object) (json.RawMessage, error) {
	result, err := t.editor.Call(t.ctx, method, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return result, nil
}

// thread starts a thread in the workspace and returns its id.
func (t *talk) thread(settings object) (string, error) {
	params := object{"cwd": t.Workspace}
	maps.Copy(params, settings)
	result, err := t.call("thread/start", params)
	return editor.Member(result, "thread", "id"), err
}

// turn runs one turn, and returns the reasons of its questions.
func (t *talk) turn(thread, text string) ([]string, error) {
	t.mu.Lock()
	t.asked = nil
	t.mu.Unlock()
	mark := t.editor.Mark()
	result, err := t.call("turn/start", object{"threadId": thread, "input": []any{object{"type": "text", "text": text}}})
	if err != nil {
		return nil, err
	}
	turn := editor.Member(result, "turn", "id")
	_, err = t.editor.Wait(t.ctx, mark, func(m editor.Message) bool {
		return !m.Sent && m.Method == "turn/completed" && m.Param("threadId") == thread && m.Param("turn", "id") == turn
	})
	if err != nil {
		return nil, fmt.Errorf("the turn does not end: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked, nil
}

// newTurn runs a turn in a new thread.
func (t *talk) newTurn(settings object, text string) (asked []string, err error) {
	thread, err := t.thread(settings)
	if err != nil {
		return nil, err
	}
	return t.turn(thread, text)
}

// expect returns an error unless a file, relative to the workspace, exists or not.
func (t *talk) expect(name string, exists bool) error {
	switch _, err := os.Lstat(filepath.Join(t.Workspace, name)); {
	case (err == nil) == exists:
		return nil
	case exists:
		return fmt.Errorf("%s was not written; the model got %.300q", name, t.lastToolOutput())
	}
	return fmt.Errorf("%s was written", name)
}

// lastToolOutput returns the last output of a tool that the model got.
func (t *talk) lastToolOutput() string {
	requests := t.Model.Requests()
	if len(requests) == 0 {
		return ""
	}
	outputs := requests[len(requests)-1].ToolOutputs()
	if len(outputs) == 0 {
		return ""
	}
	return outputs[len(outputs)-1]
}
