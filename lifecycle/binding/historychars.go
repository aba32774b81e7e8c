package binding

// Bounds of the history for a thread, in characters.
const (
	minChars      = 24_000
	maxChars      = 1_000_000
	charsPerToken = 4

	minPart   = 6_000
	maxPart   = 128_000
	partShare = 4 // a part is at most this fraction of the whole
)

// Bounds of the free part of the context window, in tokens.
const (
	defaultReserve = 20_000
	minPrompt      = 8_000 // or half of the window, if that is less
)

// historyChars returns the largest number of history characters for a context window of that many
// tokens; 0 is an unknown window. reserve is the number of tokens that stay free; nil is the
// default.
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

// Compaction holds the host's settings for the reserve. Negative values are ignored.
type Compaction struct {
	ReserveTokens      *int `json:"reserveTokens"`
	ReserveTokensFloor *int `json:"reserveTokensFloor"`
}

// Reserve returns the host's reserve in tokens, at least the floor. It returns nil if the host gives
// neither. The default floor is 20,000.
func (c Compaction) Reserve() *int {
	isGiven := func(n *int) bool { return n != nil && *n >= 0 }
	floor := defaultReserve
	if isGiven(c.ReserveTokensFloor) {
		floor = *c.ReserveTokensFloor
	}
	switch {
	case isGiven(c.ReserveTokens):
		n := max(*c.ReserveTokens, floor)
		return &n
	case isGiven(c.ReserveTokensFloor):
		return &floor
	}
	return nil
}

// partChars returns the maximum number of characters of one part of a message.
func partChars(total int) int { return min(max(total/partShare, minPart), maxPart) }
