package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// codexACP is the agent that `make setup` installs next to Codex.
const codexACP = "codex-acp"

// AgentSettings returns the configuration of agents.
func agentSettings(codex string) string {
	path := findProgram(codex, codexACP)
	if path == "" {
		return ""
	}
	return fmt.Sprintf("\n[acp]\ndefault_agent = \"codex\"\n[acp.agents.codex]\ncommand = [%q]\n", path)
}

// sceneAgent gives two tasks to an agent under the policy.
func sceneAgent(ctx context.Context, s *stage) error {
	path := findProgram(s.o.Codex, codexACP)
	if path == "" {
		s.say("(%s is not installed, so this scene is skipped.)", codexACP)
		return nil
	}
	s.say("An agent that speaks the Agent Client Protocol runs in its own process. This agent is a\nCodex that codex-bridge starts:")
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	for _, turn := range []struct{ task, want string }{
		{"SAY: The child did as it was told.", "The child did as it was told."},
		{"RUN: git push origin", ruleReason},
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
			return fmt.Errorf("the agent %s said %q, want %q\n%s", path, said, turn.want, stderr.String())
		}
		s.quote("agent", string(said))
	}
	s.good("the agent completed one task; the rule denied the other")
	return nil
}
