package demo

import (
	"context"
	"fmt"
	"time"

	"codex-bridge/cmd/internal/editor"
)

// outlives shows that a session finds its thread again after a restart, and why it gets
// another.
func outlives(ctx context.Context, s *stage) error {
	s.say("An editor that knows the bridge names its conversation. Each line is a bridge and a\ncodex of their own, started after the one before has ended:")
	first, own := s.thread, s.editor
	defer func() { s.thread, s.editor = first, own }()
	number := object{"n": object{"type": "number"}}
	before := ""
	defer func() { s.outlived = before }()
	for _, visit := range []struct {
		properties  object
		says        string
		told        string // the action and the reason
		same        bool   // the thread of the one before
		description string
	}{
		{number, "My name is Ada.", "started: notBound", false, "counts"},
		{number, "What is my name?", "resumed: ", true, "counts, in other words"},
		{object{"n": object{"type": "string"}}, "Who am I?", "started: dynamicToolsChanged", false, "counts"},
	} {
		thread, told, err := s.visit(ctx, object{
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
			s.good("resumed: the same thread, though its tool is described in other words")
		case visit.told == "started: notBound":
			s.good("started: the session has no thread yet")
		default:
			s.good("started, because %s: its tool takes another argument now", visit.told[len("started: "):])
		}
	}
	return nil
}

// visit is a bridge of its own: a session is started or resumed, and runs one turn.
func (s *stage) visit(ctx context.Context, tool object, text string) (thread, told string, err error) {
	ctx, cancel := patience(ctx)
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
