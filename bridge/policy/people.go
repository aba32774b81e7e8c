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
