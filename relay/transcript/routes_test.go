package transcript

import (
	"strconv"
	"testing"
)

// The set of recent ids is bounded and has the last ones.
func TestRecentIDsAreBounded(t *testing.T) {
	var r recentIDs
	for n := range maxRecent + 10 {
		r.add(strconv.Itoa(n))
		r.add(strconv.Itoa(n))
	}
	if len(r.ids) != maxRecent || len(r.order) != maxRecent || r.has("9") || !r.has("10") || !r.has(strconv.Itoa(maxRecent+9)) {
		t.Errorf("%d are known, in order %d", len(r.ids), len(r.order))
	}
}
