package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// userRule is the rule that Codex writes after an answer "always".
const userRule = `prefix_rule(pattern=["mkdir"], decision="allow")`

// alwaysAllow writes the rule into the home of Codex.
func alwaysAllow(home string) error {
	folder := filepath.Join(home, "rules")
	return errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "default.rules"), []byte(userRule+"\n"), 0o600))
}

// sceneUserRule shows that a rule of the user's Codex lets no command out of the sandbox.
func sceneUserRule(ctx context.Context, s *stage) error {
	s.say("The user once answered \"always\". Since then Codex runs such a command outside the sandbox\nwithout a question, under any policy of the thread:")
	s.block(userRule + "\n")
	back, err := s.useNewThread(ctx)
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
