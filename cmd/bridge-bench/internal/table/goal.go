package table

// Goal is the wanted median of a row. The zero Goal is no goal.
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

// AtMost returns the goal of a value that should be small.
func AtMost(bound float64) Goal { return Goal{bound, atMost} }

// AtLeast returns the goal of a value that should be large.
func AtLeast(bound float64) Goal { return Goal{bound, atLeast} }

// missing returns how far a value misses the goal; 0 or less if it meets it.
func (g Goal) missing(v float64) float64 {
	switch g.kind {
	case atMost:
		return v - g.bound
	case atLeast:
		return g.bound - v
	}
	return 0
}
