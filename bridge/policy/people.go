package policy

import (
	"slices"

	"codex-bridge.example/bridge/config"
)

// People are those who must be asked about a call.
type People struct {
	User   bool
	Groups []config.Quorum // of other people, each of which must approve
	Leaves bool            // the question is about a call that leaves the sandbox
}

// Equal reports whether an answer of p to a question is one of other to it.
func (p People) Equal(other People) bool {
	return p.User == other.User && p.Leaves == other.Leaves && slices.Equal(p.Groups, other.Groups)
}

// Basis identifies the rules that ask about a program, with their text and their approvers, and the exceptions that it
// uses. nil is the one of a program that no rule asks about.
type Basis struct {
	Asked      People
	Unasked    string // why the user must not be asked
	Terms      AnswerTerms
	Exceptions []string // the digests of their rules, sorted
}

// Equal reports whether a decision on one basis is one on the other.
func (b *Basis) Equal(other *Basis) bool {
	if b == nil || other == nil {
		return b == other
	}
	return b.Asked.Equal(other.Asked) && b.Unasked == other.Unasked && b.Terms.Equal(other.Terms) &&
		slices.Equal(b.Exceptions, other.Exceptions)
}
