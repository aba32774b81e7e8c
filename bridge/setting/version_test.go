package setting_test

import (
	"testing"

	"codex-bridge.example/bridge/setting"
)

// The order is that of Semantic Versioning, but for builds.
func TestCompareVersions(t *testing.T) {
	ordered := []string{
		"", "0.1.0", "0.166.0", "0.171.0-0", "0.171.0-2", "0.171.0-10", "0.171.0-alpha", "0.171.0-alpha.1", "0.171.0-alpha.1.1", "0.171.0-alpha.2",
		"0.171.0-alpha.10", "0.171.0-alpha.99999999999999999999", "0.171.0-alpha.beta", "0.171.0-beta", "0.171.0-rc.1", "0.171.0+local", "0.171.0", "0.171.1-alpha.1",
		"0.171.1", "0.171.99999999999999999999", "0.172.0-alpha.1", "1", "1.0.1", "99999999999999999999.0.0",
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := setting.CompareVersions(a, b), min(1, max(-1, i-j)); got != want {
				t.Errorf("CompareVersions(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
	for _, c := range [][2]string{{"1", "1.0.0"}, {"0.171.0+a", "0.171.0+b"}, {"", "x"}, {"0..5", ".1"}} {
		if setting.CompareVersions(c[0], c[1]) != 0 || setting.CompareVersions(c[1], c[0]) != 0 {
			t.Errorf("%q and %q differ", c[0], c[1])
		}
	}
	for _, text := range []string{"x", "0..5", "0.171.", ".171.0", "-1", "v0.171.0", "0.171.0-alpha.01"} {
		if setting.CompareVersions(text, "0.0.0-0") >= 0 {
			t.Errorf("%q is no version, and not the lowest", text)
		}
	}
}
