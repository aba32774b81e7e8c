package demo

import (
	"context"
	"fmt"
	"strings"
)

// recordSettings is the configuration of transcripts and traces.
const recordSettings = `
[trace]
enabled = true
[transcript]
enabled = true
`

// sceneHistory searches the conversations that have ended.
func sceneHistory(ctx context.Context, s *stage) error {
	s.say("The configuration records conversations without secrets: transcripts for searching, and\ntraces to view, also in a browser, and to replay. In another terminal:")
	for _, one := range []struct {
		args []string
		want string
	}{
		{[]string{"history", "search", "my name", "--kind", "user"}, "[name]"},
		{[]string{"trace", "list"}, s.endedThread},
	} {
		out, err := s.command(ctx, one.args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("codex-bridge %s: %w: %s", strings.Join(one.args, " "), err, out)
		}
		shown := strings.ReplaceAll(strings.Join(one.args, " "), "my name", "'my name'")
		s.block("$ codex-bridge " + shown + "\n" + string(out))
		if !strings.Contains(string(out), one.want) {
			return fmt.Errorf("codex-bridge %[2]s did not find %[1]q", one.want, shown)
		}
	}
	return nil
}
