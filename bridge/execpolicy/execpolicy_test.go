package execpolicy_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge/bridge/execpolicy"
)

// Adding a floor never loosens a policy, and adding it twice changes nothing.
func TestLaws(t *testing.T) {
	securities, asks := []string{"deny", "allowlist", "full"}, []string{"off", "on-miss", "always"}
	rapid.Check(t, func(t *rapid.T) {
		word := func(from []string) string {
			return rapid.SampledFrom(append([]string{"", "bogus"}, from...)).Draw(t, "word")
		}
		layer := func() execpolicy.Layer {
			return execpolicy.Layer{Mode: word([]string{"deny", "allowlist", "ask", "auto", "full"}), Security: word(securities), Ask: word(asks)}
		}
		layers, floor := []execpolicy.Layer{layer(), layer()}, layer()
		free, held := execpolicy.Resolve(layers, execpolicy.Layer{}), execpolicy.Resolve(layers, floor)
		if slices.Index(securities, held.Security) > slices.Index(securities, free.Security) || slices.Index(asks, held.Ask) < slices.Index(asks, free.Ask) {
			t.Fatalf("%+v held to %+v is %+v", free, floor, held)
		}
		if i := slices.Index(securities, floor.Security); i >= 0 && slices.Index(securities, held.Security) > i || slices.Index(asks, held.Ask) < slices.Index(asks, floor.Ask) {
			t.Fatalf("%+v is below the floor %+v", held, floor)
		}
		if again := execpolicy.Resolve(append(layers, layers[1]), floor); again != held {
			t.Fatalf("said twice: %+v, once: %+v", again, held)
		}
		if held.Touched != (held.Mode != "") {
			t.Fatalf("%+v", held)
		}
	})
}
