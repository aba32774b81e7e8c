package policy

import "codex-bridge.example/bridge/config"

// RequiresProgramStarts reports whether no Codex is to start otherwise.
func (p *Policy) RequiresProgramStarts() bool {
	return p.SupervisesPrograms() && p.section.ExecRules == "on"
}

// SupervisesPrograms reports whether Codex is to be started so that the rules for commands decide each program
// start. By default it is if that costs nothing: no command may leave the sandbox, in which programs that change
// the user do not work anyway.
func (p *Policy) SupervisesPrograms() bool {
	switch p.section.ExecRules {
	case "on":
		return p.mode != config.Off
	case "off":
		return false
	}
	return p.mode == config.Enforce && !p.asksEscalation && p.HasProgramRules()
}

// HasProgramRules reports whether a deny or ask rule for commands counts where a program starts.
func (p *Policy) HasProgramRules() bool { return p.rules != nil && p.rules.HasProgramRules() }
