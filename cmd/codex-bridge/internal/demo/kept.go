package demo

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// kept is what the demo's configuration says of what is kept.
const kept = `
[trace]
enabled = true
[transcript]
enabled = true
`

// foundAgain searches what was said in the conversations that have ended.
func foundAgain(ctx context.Context, s *stage) error {
	s.say("The configuration has what is said kept, without its secrets: transcripts to be searched,\nand traces to be looked at, also in a browser, and played again. From another terminal:")
	for _, one := range []struct {
		args []string
		want string
	}{
		{[]string{"history", "search", "my name", "--kind", "user"}, "[name]"},
		{[]string{"trace", "list"}, s.outlived},
	} {
		command := exec.CommandContext(ctx, s.o.Bridge, one.args...)
		command.Env = s.env
		out, err := command.CombinedOutput()
		if err != nil {
			return fmt.Errorf("codex-bridge %s: %w: %s", strings.Join(one.args, " "), err, out)
		}
		shown := strings.ReplaceAll(strings.Join(one.args, " "), "my name", "'my name'")
		s.block("$ codex-bridge " + shown + "\n" + string(out))
		if !strings.Contains(string(out), one.want) {
			return fmt.Errorf("%q is not found by codex-bridge %s", one.want, shown)
		}
	}
	return nil
}
