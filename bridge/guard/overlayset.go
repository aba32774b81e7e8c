package guard

import (
	"slices"

	"codex-bridge.example/bridge/policy"
)

// overlaySet has, for each request with which Codex may have loaded a thread, the policies that
// decided the request. Codex keeps the overlay of that request while it has the thread in memory,
// and does not report it. The slices are replaced, never changed.
type overlaySet struct {
	requests [][]*policy.Policy
	full     bool // a request was not added
}

// maxOverlays bounds the requests in a set.
const maxOverlays = 64

// add adds the policies of a request, unless a request under policies that are the same for overlays
// is in the set.
func (s *overlaySet) add(policies []*policy.Policy) {
	same := func(p, q *policy.Policy) bool { return p.AllowsOverlayOf(q) && q.AllowsOverlayOf(p) }
	switch {
	case slices.ContainsFunc(s.requests, func(had []*policy.Policy) bool { return slices.EqualFunc(had, policies, same) }):
	case len(s.requests) == maxOverlays:
		s.full = true
	default:
		s.requests = append(slices.Clip(s.requests), policies)
	}
}

func (s *overlaySet) addAll(other overlaySet) {
	for _, policies := range other.requests {
		s.add(policies)
	}
	s.full = s.full || other.full
}

// allowedBy reports whether p allows the overlay of each request.
func (s *overlaySet) allowedBy(p *policy.Policy) bool {
	forbidden := func(policies []*policy.Policy) bool { return !slices.ContainsFunc(policies, p.AllowsOverlayOf) }
	return !s.full && !slices.ContainsFunc(s.requests, forbidden)
}
