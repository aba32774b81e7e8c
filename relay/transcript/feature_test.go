package transcript

import (
	"strconv"
	"testing"
)

// What is known of ephemeral threads is bounded, and the last ones are known.
func TestRecent(t *testing.T) {
	var r recent
	for n := range mostRecent + 10 {
		r.add(strconv.Itoa(n))
		r.add(strconv.Itoa(n))
	}
	if len(r.ids) != mostRecent || len(r.order) != mostRecent || r.has("9") || !r.has("10") || !r.has(strconv.Itoa(mostRecent+9)) {
		t.Errorf("%d are known, in order %d", len(r.ids), len(r.order))
	}
}
