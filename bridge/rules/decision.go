package rules

import "codex-bridge/bridge/config"

// Decision is what the rules say. The order is that of strictness, and the
// stricter one wins between layers and between the parts of a line.
type Decision int

// The decisions.
const (
	None  Decision = iota // no rule speaks
	Allow                 // every part is allowed
	Ask
	Deny
)

// String gives the word of the configuration.
func (d Decision) String() string {
	switch d {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Deny:
		return "deny"
	}
	return "none"
}

// Escalation says whether what is asked for would leave the sandbox.
type Escalation int

// Unknown counts as escalated, and is the zero value.
const (
	EscalationUnknown Escalation = iota
	Escalated
	Sandboxed
)

// Dirs are the folders of a thread, canonical and absolute. An empty one is
// not known: then an allow rule that names it matches nothing, and a deny rule
// everything that it could mean.
type Dirs struct {
	Workspace string // ${workspace}
	Home      string // ~
	Cwd       string // where the command runs; relative paths of a line start here
	// Roots are folders beside Workspace in which allow rules for commands count.
	Roots []string
	// Resolve returns the canonical form of an absolute path. If it is nil, no file of a
	// redirection is allowed.
	Resolve func(path string) (string, error)
}

// Match is the answer of a Set.
type Match struct {
	Decision Decision
	// Rule is the rule that decided, with its reason and its place in a file; nil
	// for None. It belongs to the Set: read it only.
	Rule *config.Rule
	// Part is the simple command, redirection, path or tool that Rule matched.
	Part string
	// Why is set where the words of the rule alone don't tell: that it matched
	// only because something is not known, or why nothing could be allowed.
	Why string
}

// stricter takes m in the place of what is there, if it says more.
func (m *Match) stricter(other Match) {
	if other.Decision > m.Decision {
		*m = other
	}
}
