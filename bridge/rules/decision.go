package rules

import (
	"slices"

	"codex-bridge.example/bridge/config"
)

// Decision is the result of a Set. Decisions are ordered by strictness: between layers, and between
// the parts of a line, the stricter one wins.
type Decision int

// The decisions.
const (
	None  Decision = iota // no rule applies
	Allow                 // rules allow every part
	Ask
	Deny
)

// String returns the decision as the configuration spells it, and "none" for None.
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

// Escalation reports whether a command or change would leave the sandbox.
type Escalation int

// EscalationUnknown, the zero value, counts as Escalated.
const (
	EscalationUnknown Escalation = iota
	Escalated
	Sandboxed
)

// Dirs has the folders of a thread, as canonical absolute paths. An empty path is unknown: an allow
// rule that needs it matches nothing, and a deny rule matches every path that it might mean.
type Dirs struct {
	Workspace string // ${workspace}
	Home      string // ~
	Cwd       string // where the command runs; relative paths of a line start here
	// Roots are other folders in which allow rules for commands apply.
	Roots []string
	// ProgramFolders are the folders of PATH: an allow rule with a name, such as git, knows the programs
	// in them. Only Program uses them.
	ProgramFolders []string
	// Readings returns the paths by which a file is reached by an absolute path, with the links on the
	// way and without. If it is nil, no rule allows the file of a redirection.
	Readings func(path string) ([]string, error)
	// ProgramStarts reports that Program decides each program that the line starts, too. Then a rule that
	// holds there matches a line only by words that are known, and not because a part is unreadable.
	ProgramStarts bool
	// Lines keeps the line that was read last, for further questions about it; nil: nothing is kept.
	Lines *LineCache
	// Follow resolves an absolute path as the kernel does: name by name, so that ".." behind a link
	// is the folder above the link's target. After an error it may be any path. ChangedFiles uses it
	// for folders, and Program for programs that others load; it may be nil.
	Follow func(path string) (string, error)
}

// Match is the decision of a Set about one question.
type Match struct {
	Decision Decision
	// Rule is the rule that decided, with its reason and position; nil for None. It belongs to the
	// Set and must not be changed.
	Rule *config.Rule
	// Approvers are the members of groups who must approve, of all ask rules that match; sorted.
	Approvers []config.Quorum
	// Asking are the ask rules that decided about a part, each once. They belong to the Set, too.
	Asking []*config.Rule
	// Asked are the commands of a line about which rules of Asking ask, if Dirs.ProgramStarts is set.
	Asked []AskedCommand
	// Part is the simple command, redirection, path or tool that Rule matched.
	Part string
	// Exceptions are the rules with config.Rule.IsException that allow a part. Without them another rule may
	// have decided about it.
	Exceptions []Exception
	// Why explains a match that the words of the rule do not explain: that the rule matched because
	// something is unknown, or why no allow rule could apply.
	Why string
}

// Exception is the use of a rule with config.Rule.IsException for a part of a call.
type Exception struct {
	Rule *config.Rule
	Part string // as Match.Part
}

// addExceptions adds the exceptions of another part, each rule once.
func (m *Match) addExceptions(other []Exception) {
	for _, one := range other {
		if !slices.ContainsFunc(m.Exceptions, func(e Exception) bool { return e.Rule == one.Rule }) {
			m.Exceptions = append(slices.Clip(m.Exceptions), one)
		}
	}
}

// maxAsked bounds Match.Asked. A program of a command that is left out is asked about again.
const maxAsked = 256

// addAsked adds commands that rules ask about, each once.
func (m *Match) addAsked(other []AskedCommand) {
	for _, a := range other {
		if len(m.Asked) < maxAsked && !slices.ContainsFunc(m.Asked, func(b AskedCommand) bool { return a.Rule == b.Rule && slices.Equal(a.Words, b.Words) }) {
			m.Asked = append(slices.Clip(m.Asked), a)
		}
	}
}

// setPart sets the part that the rule, and the exceptions so far, have matched.
func (m *Match) setPart(text string) {
	m.Part = text
	for i := range m.Exceptions {
		m.Exceptions[i].Part = text
	}
}

// tighten replaces m by other if other is stricter. The approvers of both are needed, the exceptions of
// both count, and a rule with approvers is stricter than another ask rule.
func (m *Match) tighten(other Match) {
	groups, exceptions, asking, asked := config.MergeQuorums(m.Approvers, other.Approvers), m.Exceptions, m.Asking, m.Asked
	if other.Decision > m.Decision || other.Decision == m.Decision && len(m.Approvers) == 0 && len(other.Approvers) > 0 {
		*m = other
	}
	m.Approvers, m.Asking, m.Asked = groups, asking, asked
	m.addAsked(other.Asked)
	for _, r := range other.Asking {
		if !slices.Contains(m.Asking, r) {
			m.Asking = append(slices.Clip(m.Asking), r)
		}
	}
	if added := other.Exceptions; len(exceptions)+len(added) > 0 {
		m.Exceptions = exceptions
		m.addExceptions(added)
	}
}
