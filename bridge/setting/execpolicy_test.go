package setting_test

import (
	"codex-bridge.example/bridge/setting"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Adding a floor never loosens a policy, and adding it twice changes nothing.
func TestExecLaws(t *testing.T) {
	securities, asks := []string{"deny", "allowlist", "full"}, []string{"off", "on-miss", "always"}
	rapid.Check(t, func(t *rapid.T) {
		word := func(from []string) string {
			return rapid.SampledFrom(append([]string{"", "bogus"}, from...)).Draw(t, "word")
		}
		layer := func() setting.ExecLayer {
			return setting.ExecLayer{Mode: word([]string{"deny", "allowlist", "ask", "auto", "full"}), Security: word(securities), Ask: word(asks)}
		}
		layers, floor := []setting.ExecLayer{layer(), layer()}, layer()
		free, held := setting.ResolveExec(layers, setting.ExecLayer{}), setting.ResolveExec(layers, floor)
		if slices.Index(securities, held.Security) > slices.Index(securities, free.Security) || slices.Index(asks, held.Ask) < slices.Index(asks, free.Ask) {
			t.Fatalf("%+v held to %+v is %+v", free, floor, held)
		}
		if i := slices.Index(securities, floor.Security); i >= 0 && slices.Index(securities, held.Security) > i || slices.Index(asks, held.Ask) < slices.Index(asks, floor.Ask) {
			t.Fatalf("%+v is below the floor %+v", held, floor)
		}
		if again := setting.ResolveExec(append(layers, layers[1]), floor); again != held {
			t.Fatalf("said twice: %+v, once: %+v", again, held)
		}
		if held.Touched != (held.Mode != "") {
			t.Fatalf("%+v", held)
		}
	})
}
