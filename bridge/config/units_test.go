package config_test

import (
	"testing"
	"time"

	"codex-bridge.example/bridge/config"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"2s": 2 * time.Second, "500ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond, "0s": 0, "007m": 7 * time.Minute,
	} {
		if got, err := config.ParseDuration(s); err != nil || time.Duration(got) != want {
			t.Errorf("%q: got %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "2", "s", "-2s", "+2s", "2 s", "2S", "2d", "2us", ".5s", "2.s", "1e3s", "2s ", "99999999999999h", "2s\n"} {
		if got, err := config.ParseDuration(s); err == nil {
			t.Errorf("%q: got %v", s, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]config.Size{
		"64MiB": 64 << 20, "256KiB": 256 << 10, "1GB": 1e9, "1KB": 1000, "12": 12, "12B": 12, "0": 0, "2TiB": 2 << 40, "3TB": 3e12, "9223372036854775807": 1<<63 - 1,
	} {
		if got, err := config.ParseSize(s); err != nil || got != want {
			t.Errorf("%q: got %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "MiB", "-1", "1.5GB", "64 MiB", "64mib", "64M", "64Mi", "64KIB", "1e3", "9223372036854775808", "9999999TiB", "64MiB "} {
		if got, err := config.ParseSize(s); err == nil {
			t.Errorf("%q: got %d", s, got)
		}
	}
}

// Text of a duration or size has the same value.
func TestUnitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := config.Size(rapid.Int64Min(0).Draw(t, "size"))
		if got, err := config.ParseSize(size.String()); err != nil || got != size {
			t.Fatalf("%d → %q → %d, %v", size, size, got, err)
		}
		d := config.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "milliseconds") / 1e6 * 1e6)
		if got, err := config.ParseDuration(d.String()); err != nil || got != d {
			t.Fatalf("%d → %q → %d, %v", d, d, got, err)
		}
	})
}
