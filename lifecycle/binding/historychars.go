package binding

// Bounds of what a thread is told, in characters.
const (
	minChars      = 24_000
	maxChars      = 1_000_000
	charsPerToken = 4

	minPart   = 6_000
	maxPart   = 128_000
	partShare = 4 // a part is at most this fraction of the whole
)

// Bounds of what is kept free for the answer, in tokens.
const (
	defaultReserve = 20_000
	minPrompt      = 8_000 // or half of the window, if that is less
)

// historyChars returns the largest number of history characters for a context window of that many tokens; 0
// is an unknown window. reserve is the number of tokens that stay free; nil is the default.
func historyChars(window int, reserve *int) int {
	if window <= 0 {
		return minChars
	}
	return min(max(charsPerToken*(window-freeTokens(window, reserve)), minChars), maxChars)
}

// freeTokens returns how much of a window stays free: reserve, as long as that leaves room for a
// prompt.
func freeTokens(window int, reserve *int) int {
	n := defaultReserve
	if reserve != nil {
		n = max(*reserve, 0)
	}
	return max(min(n, window-min(minPrompt, window/2)), 0)
}

// Compaction is the part of a host's settings that names the reserve. Values below zero do
// not count.
type Compaction struct {
	ReserveTokens      *int `json:"reserveTokens"`
	ReserveTokensFloor *int `json:"reserveTokensFloor"`
}

// Reserve returns the reserve that the host asks for, nil when it names none. A reserve below
// the floor rises to it; the usual reserve is the floor where the host names no other.
func (c Compaction) Reserve() *int {
	said := func(n *int) bool { return n != nil && *n >= 0 }
	floor := defaultReserve
	if said(c.ReserveTokensFloor) {
		floor = *c.ReserveTokensFloor
	}
	switch {
	case said(c.ReserveTokens):
		n := max(*c.ReserveTokens, floor)
		return &n
	case said(c.ReserveTokensFloor):
		return &floor
	}
	return nil
}

// partChars returns how many characters one part of a message may have.
func partChars(most int) int { return min(max(most/partShare, minPart), maxPart) }
