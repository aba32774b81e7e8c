package projection

// Bounds of what a thread is told, in characters.
const (
	leastChars    = 24_000
	mostChars     = 1_000_000
	charsPerToken = 4

	leastPart = 6_000
	mostPart  = 128_000
	partShare = 4 // a part is at most this fraction of the whole
)

// Bounds of what is kept free for the answer, in tokens.
const (
	usualReserve = 20_000
	leastPrompt  = 8_000 // or half of the window, if that is less
)

// MaxChars is how many characters of the conversation a thread may be told, for a window
// of so many tokens; 0 is one that is not known. reserve is kept free of it; nil is the
// usual reserve.
func MaxChars(window int, reserve *int) int {
	if window <= 0 {
		return leastChars
	}
	return min(max(charsPerToken*(window-free(window, reserve)), leastChars), mostChars)
}

// free is what is kept free of a window: what was asked for, as long as that leaves room for a
// prompt.
func free(window int, asked *int) int {
	reserve := usualReserve
	if asked != nil {
		reserve = max(*asked, 0)
	}
	return max(min(reserve, window-min(leastPrompt, window/2)), 0)
}

// Compaction is the part of a host's settings that tells the reserve. What is below zero
// does not count.
type Compaction struct {
	ReserveTokens      *int `json:"reserveTokens"`
	ReserveTokensFloor *int `json:"reserveTokensFloor"`
}

// Reserve is the reserve that the host asks for, nil when it asks for none.
func (c Compaction) Reserve() *int {
	var most *int
	for _, n := range []*int{c.ReserveTokens, c.ReserveTokensFloor} {
		if n != nil && *n >= 0 && (most == nil || *n > *most) {
			most = n
		}
	}
	return most
}

// partChars bounds one part of a message.
func partChars(most int) int { return min(max(most/partShare, leastPart), mostPart) }
