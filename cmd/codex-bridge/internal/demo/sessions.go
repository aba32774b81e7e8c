package demo

import (
	"context"
	"fmt"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// sceneSession shows that a session finds its thread after a restart, and when it gets a new one.
func sceneSession(ctx context.Context, s *stage) error {
	s.say("An editor that knows the bridge names its conversation. Each line is a new\nbridge with a new Codex, started after the one before ended:")
	first, own := s.thread, s.editor
	defer func() { s.thread, s.editor = first, own }()
	number := object{"n": object{"type": "number"}}
	before := ""
	defer func() { s.endedThread = before }()
	for _, visit := range []struct {
		properties  object
		says        string
		told        string // the action and the reason
		same        bool   // the thread of the step before
		description string
	}{
		{number, "My name is Ada.", "started: notBound", false, "counts"},
		{number, "What is my name?", "resumed: ", true, "counts, in other words"},
		{object{"n": object{"type": "string"}}, "Who am I?", "started: dynamicToolsChanged", false, "counts"},
	} {
		thread, told, err := s.runSession(ctx, object{
			"type": "function", "name": "count_up", "description": visit.description,
			"inputSchema": object{"type": "object", "properties": visit.properties},
		}, visit.says)
		if err != nil {
			return err
		}
		if told != visit.told || (thread == before) != visit.same {
			return fmt.Errorf("the session is %q, in the thread %s after %s", told, thread, before)
		}
		before = thread
		switch {
		case visit.same:
			s.good("resumed: the same thread, though the description of its tool changed")
		case visit.told == "started: notBound":
			s.good("started: the session has no thread yet")
		default:
			s.good("started, because %s: the arguments of its tool changed", visit.told[len("started: "):])
		}
	}
	return nil
}

// runSession starts a new bridge, starts or resumes a session, and runs one turn.
func (s *stage) runSession(ctx context.Context, tool object, text string) (thread, told string, err error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	s.editor, err = editor.Start(editor.Options{Argv: []string{s.o.Bridge, "app-server"}, Env: s.env, Dir: s.work})
	if err != nil {
		return "", "", err
	}
	defer s.editor.Close(5 * time.Second)
	if _, err := s.editor.Initialize(ctx, object{"experimentalApi": true, "bridge": object{"version": 1}}); err != nil {
		return "", "", err
	}
	answer, err := s.call(ctx, "thread/start", object{
		"cwd": s.work, "approvalPolicy": "on-request", "sandbox": "read-only", "dynamicTools": []object{tool},
		"bridge": object{"sessionKey": "demo"},
	})
	if err != nil {
		return "", "", err
	}
	s.thread = editor.Member(answer, "thread", "id")
	if _, err := s.turn(ctx, text, nil); err != nil {
		return "", "", err
	}
	return s.thread, editor.Member(answer, "bridge", "action") + ": " + editor.Member(answer, "bridge", "reason"), nil
}
