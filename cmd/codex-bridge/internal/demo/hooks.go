package demo

import (
	"context"
	"errors"
	"strings"

	"codex-bridge/cmd/internal/editor"
)

// aRule shows that a rule holds where codex asks nobody: a hook sees every call.
func aRule(ctx context.Context, s *stage) error {
	s.say("A thread may also ask only for what leaves the sandbox. The rule about pushing holds\nall the same: the bridge has put a hook into every thread, and codex asks it before\neach tool call. Nobody is asked, and the model is told why:")
	back, err := s.another(ctx)
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
	if !strings.Contains(text, "Pushing is done by people") {
		return errors.New("the command was not held back by the rule")
	}
	for _, m := range s.editor.Messages()[mark:] {
		if m.Method == "hook/completed" {
			s.good("codex itself says: the hook has %s it, in %s ms", editor.Member(m.Params, "run", "status"), editor.Member(m.Params, "run", "durationMs"))
			return nil
		}
	}
	return errors.New("codex does not say that a hook ran")
}
