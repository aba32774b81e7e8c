package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// rule is what codex writes down where somebody has said "always".
const rule = `prefix_rule(pattern=["mkdir"], decision="allow")`

// alwaysAllow puts the rule where codex finds it.
func alwaysAllow(home string) error {
	folder := filepath.Join(home, "rules")
	return errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "default.rules"), []byte(rule+"\n"), 0o600))
}

// ownRule shows that a rule of the user's own for codex lets no command out of the sandbox.
func ownRule(ctx context.Context, s *stage) error {
	s.say("Some day the user has told codex \"always\". From then on it runs such a command outside\nof its sandbox, and asks nobody, whatever the thread's policy:")
	s.block(rule + "\n")
	back, err := s.another(ctx)
	if err != nil {
		return err
	}
	defer back()
	text, err := s.turn(ctx, "RUN: mkdir escaped", nil)
	if err != nil {
		return err
	}
	s.quote("codex", text)
	switch _, err := os.Stat(filepath.Join(s.work, "escaped")); {
	case err == nil:
		return errors.New("the command ran outside of the sandbox")
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	s.good("the bridge's hook kept it in the read-only sandbox of the thread, without a question")
	return nil
}
