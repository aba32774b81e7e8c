package setting

import "slices"

// Securities of an exec policy, from the strictest to the loosest: which commands may run.
const (
	SecurityDeny      = "deny"
	SecurityAllowlist = "allowlist"
	SecurityFull      = "full"
)

// Asks of an exec policy, from never to always: when the user is asked.
const (
	AskOff    = "off"
	AskOnMiss = "on-miss" // for commands that no list allows
	AskAlways = "always"
)

// Modes of an exec policy that are not also a security.
const (
	ModeAsk  = "ask"
	ModeAuto = "auto" // a model reviews commands instead of the user
)

var (
	securities = []string{SecurityDeny, SecurityAllowlist, SecurityFull}
	asks       = []string{AskOff, AskOnMiss, AskAlways}
)

// modes are the security and the ask that each mode stands for.
var modes = map[string]ExecLayer{
	SecurityDeny:      {Security: SecurityDeny, Ask: AskOff},
	SecurityAllowlist: {Security: SecurityAllowlist, Ask: AskOff},
	ModeAsk:           {Security: SecurityAllowlist, Ask: AskOnMiss},
	ModeAuto:          {Security: SecurityAllowlist, Ask: AskOnMiss},
	SecurityFull:      {Security: SecurityFull, Ask: AskOff},
}

// ExecLayer has the values of an exec policy in one configuration file. An unknown word counts as "".
type ExecLayer struct{ Mode, Security, Ask string }

// ExecPolicy is an exec policy: which commands may run, and when the user is asked.
type ExecPolicy struct {
	Mode     string // "" if no layer has a value
	Security string
	Ask      string
	Touched  bool // whether a layer has a value
}

// ResolveExec returns the exec policy of layers. A later layer replaces the values of the earlier
// ones. The result is at least as strict as floor.
func ResolveExec(layers []ExecLayer, floor ExecLayer) ExecPolicy {
	p := ExecPolicy{Security: SecurityFull, Ask: AskOff}
	for _, l := range layers {
		p = p.with(l)
	}
	security, ask := earlier(securities, p.Security, floor.Security), later(asks, p.Ask, floor.Ask)
	if security != p.Security || ask != p.Ask {
		p = ExecPolicy{modeOf(security, ask), security, ask, true}
	}
	return p
}

func (p ExecPolicy) with(l ExecLayer) ExecPolicy {
	if m, ok := modes[l.Mode]; ok {
		return ExecPolicy{l.Mode, m.Security, m.Ask, true}
	}
	security, ask := slices.Contains(securities, l.Security), slices.Contains(asks, l.Ask)
	if !security && !ask {
		return p
	}
	if security {
		p.Security = l.Security
	}
	if ask {
		p.Ask = l.Ask
	}
	return ExecPolicy{modeOf(p.Security, p.Ask), p.Security, p.Ask, true}
}

func modeOf(security, ask string) string {
	switch {
	case security == SecurityDeny:
		return SecurityDeny
	case security == SecurityAllowlist && ask == AskOff:
		return SecurityAllowlist
	case security == SecurityFull && ask != AskAlways:
		return SecurityFull
	}
	return ModeAsk
}

// earlier returns the word that comes first in order, and later the one that comes last. An unknown
// floor is ignored.
func earlier(order []string, is, floor string) string {
	if i := slices.Index(order, floor); i >= 0 && i < slices.Index(order, is) {
		return floor
	}
	return is
}

func later(order []string, is, floor string) string {
	if slices.Index(order, floor) > slices.Index(order, is) {
		return floor
	}
	return is
}
