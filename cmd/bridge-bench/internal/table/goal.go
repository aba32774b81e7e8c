package table

// Goal is what a row's median should be. The zero Goal is none: the row is there to be
// known.
type Goal struct {
	bound float64
	kind  kind
}

type kind uint8

const (
	none kind = iota
	atMost
	atLeast
)

// AtMost is the goal of a value that should be small.
func AtMost(bound float64) Goal { return Goal{bound, atMost} }

// AtLeast is the goal of a value that should be large.
func AtLeast(bound float64) Goal { return Goal{bound, atLeast} }

// missing is how much a value lacks; 0 or less where it keeps to the goal.
func (g Goal) missing(v float64) float64 {
	switch g.kind {
	case atMost:
		return v - g.bound
	case atLeast:
		return g.bound - v
	}
	return 0
}
