package doctor

import (
	"errors"
	"fmt"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/cmd/internal/settings"
)

// examineProgramStarts reports where the rules for commands decide: where a program starts, or only on the lines of
// commands.
func examineProgramStarts(cfg *config.Config) []finding {
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil || p.Mode() == config.Off || !p.HasProgramRules() && cfg.Policy.ExecRules != "on" {
		return nil
	}
	const name = "programs"
	lines := "rules for commands see the lines of commands, but not what scripts start"
	place := fmt.Sprintf("policy.exec_rules is %q (%s)", cfg.Policy.ExecRules, settings.Origin(cfg, "policy.exec_rules"))
	if !p.SupervisesPrograms() {
		switch {
		case cfg.Policy.ExecRules == "off":
			return []finding{{name, Warn, lines + ": " + place, `remove policy.exec_rules`}}
		case p.Mode() != config.Enforce:
			return []finding{{name, Fine, lines + ": the policy is not enforced", ""}}
		}
		return []finding{{name, Warn, lines + `: policy.escalation is "ask" (` + settings.Origin(cfg, "policy.escalation") + `), and programs such as sudo would fail in commands outside the sandbox`,
			`set policy.exec_rules = "on" if no command needs such programs`}}
	}
	err = supervise.Check(child.Start, child.Wait)
	var unsupported *supervise.UnsupportedError
	switch {
	case err == nil:
		return []finding{{name, Fine, "rules for commands decide where a program starts, also in scripts", ""}}
	case !errors.As(err, &unsupported):
		return []finding{{name, Broken, "a process can't be started for the check: " + problem.Text(err), ""}}
	case cfg.Policy.ExecRules == "on":
		return []finding{{name, Broken, err.Error() + "; " + place, `set policy.exec_rules = "auto" to go on without`}}
	}
	return []finding{{name, Warn, lines + ": " + unsupported.Reason, `policy.exec_rules = "off" says that this is intended`}}
}
