// Package execpolicy resolves how freely commands may be run: a security (deny, allowlist,
// full) and when a person is asked (off, on-miss, always), from several hands.
//
// Layers replace each other; floors only tighten. It is pure and may be used by several
// goroutines.
package execpolicy

import "slices"

// The securities, from the strictest.
const (
	Deny      = "deny"
	Allowlist = "allowlist"
	Full      = "full"
)

// When a person is asked, from never to for everything.
const (
	Off    = "off"
	OnMiss = "on-miss" // what the list does not allow
	Always = "always"
)

// The modes that are not also a security.
const (
	Ask  = "ask"
	Auto = "auto" // a model reviews in the person's place
)

var (
	securities = []string{Deny, Allowlist, Full}
	asks       = []string{Off, OnMiss, Always}
)

// modes are short for a security and an ask.
var modes = map[string]Layer{
	Deny:      {Security: Deny, Ask: Off},
	Allowlist: {Security: Allowlist, Ask: Off},
	Ask:       {Security: Allowlist, Ask: OnMiss},
	Auto:      {Security: Allowlist, Ask: OnMiss},
	Full:      {Security: Full, Ask: Off},
}

// Layer is what one hand says. What is "", or no known word, is not said.
type Layer struct{ Mode, Security, Ask string }

// Policy is what comes of all of it.
type Policy struct {
	Mode     string // "" when nobody has said anything
	Security string
	Ask      string
	Touched  bool // somebody has
}

// Resolve puts the layers over each other, the last one on top, and holds the outcome to
// the floor.
func Resolve(layers []Layer, floor Layer) Policy {
	p := Policy{Security: Full, Ask: Off}
	for _, l := range layers {
		p = p.under(l)
	}
	security, ask := stricter(securities, p.Security, floor.Security), stronger(asks, p.Ask, floor.Ask)
	if security != p.Security || ask != p.Ask {
		p = Policy{modeOf(security, ask), security, ask, true}
	}
	return p
}

func (p Policy) under(l Layer) Policy {
	if m, ok := modes[l.Mode]; ok {
		return Policy{l.Mode, m.Security, m.Ask, true}
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
	return Policy{modeOf(p.Security, p.Ask), p.Security, p.Ask, true}
}

func modeOf(security, ask string) string {
	switch {
	case security == Deny:
		return Deny
	case security == Allowlist && ask == Off:
		return Allowlist
	case security == Full && ask != Always:
		return Full
	}
	return Ask
}

// stricter is the word that comes first, stronger the one that comes last. One that is not
// known counts for nothing.
func stricter(order []string, is, floor string) string {
	if i := slices.Index(order, floor); i >= 0 && i < slices.Index(order, is) {
		return floor
	}
	return is
}

func stronger(order []string, is, floor string) string {
	if slices.Index(order, floor) > slices.Index(order, is) {
		return floor
	}
	return is
}
