package demo

import (
	"context"
	"errors"
	"strings"

	"codex-bridge.example/cmd/internal/editor"
)

// sceneRule shows that a rule applies if Codex does not ask: a hook sees every call.
func sceneRule(ctx context.Context, s *stage) error {
	s.say("A thread may also ask only for commands outside the sandbox. The rule about pushing still\napplies: the bridge adds a hook to every thread, and Codex runs it before each tool call.\nThe user gets no question, and the model gets the reason:")
	back, err := s.useNewThread(ctx)
	if err != nil {
		return err
	}
	defer back()
	mark := s.editor.Mark()
	text, err := s.turn(ctx, "RUN: git status; git push --force", nil)
	if err != nil {
		return err
	}
	s.quote("codex", text)
	if !strings.Contains(text, ruleReason) {
		return errors.New("the rule did not stop the command")
	}
	for _, m := range s.editor.Messages()[mark:] {
		if m.Method == "hook/completed" {
			s.good("Codex reports: the hook %s it, in %s ms", editor.Member(m.Params, "run", "status"), editor.Member(m.Params, "run", "durationMs"))
			return nil
		}
	}
	return errors.New("Codex reported no hook")
}
