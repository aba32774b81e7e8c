package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// codexACP is the agent that `make setup` installs beside codex.
const codexACP = "codex-acp"

// agent is what the configuration has of agents.
func agent(codex string) string {
	path := find(codex, codexACP)
	if path == "" {
		return ""
	}
	return fmt.Sprintf("\n[acp]\ndefault_agent = \"codex\"\n[acp.agents.codex]\ncommand = [%q]\n", path)
}

// agentBeside has an agent do two tasks, and the policy hold in it.
func agentBeside(ctx context.Context, s *stage) error {
	path := find(s.o.Codex, codexACP)
	if path == "" {
		s.say("(%s is not installed, so that there is no agent to show.)", codexACP)
		return nil
	}
	s.say("An agent that speaks the Agent Client Protocol works in a process of its own. This one is a\nCodex, and the bridge is its codex:")
	ctx, cancel := patience(ctx)
	defer cancel()
	for _, turn := range []struct{ task, want string }{
		{"SAY: The child did as it was told.", "The child did as it was told."},
		{"RUN: git push origin", "Pushing is done by people"},
	} {
		s.quote("task", turn.task)
		cmd := exec.CommandContext(ctx, s.o.Bridge, "acp", "spawn", turn.task)
		cmd.Env, cmd.Dir = append(s.env[:len(s.env):len(s.env)], "CODEX_BRIDGE_LOG=error"), s.work
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		said, err := cmd.Output()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			return err
		}
		if !strings.Contains(string(said), turn.want) {
			return fmt.Errorf("the agent %s said %q, and %q was to come\n%s", path, said, turn.want, stderr.String())
		}
		s.quote("agent", string(said))
	}
	s.good("the agent did one, and the rule kept it from the other")
	return nil
}
