package noise_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/cmd/internal/noise"
)

func TestSeed(t *testing.T) {
	t.Parallel()
	make := func(seed uint64) string {
		var all strings.Builder
		source := noise.New(seed, "test", "s")
		for range 200 {
			id, request := source.Request()
			fmt.Fprintf(&all, "%s\n%s\n%s\n", source.Notification(), request, source.Members([]byte(`{"result":{}}`), false))
			if request != nil && !noise.Is(id) {
				t.Errorf("%s does not start with Prefix", id)
			}
		}
		return all.String()
	}
	if diff := cmp.Diff(make(7), make(7)); diff != "" {
		t.Error(diff)
	}
	if make(7) == make(8) {
		t.Error("two seeds gave equal noise")
	}
}
