package codex_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/bridgetest/vectors"
	"codex-bridge/bridge/codex"
)

// client.json: what the system we were asked to build was seen to do when it
// starts codex.
func seen(t *testing.T, into any) {
	t.Helper()
	vectors.Read(t, "client.json", into)
}

func TestVersionVectors(t *testing.T) {
	var v struct {
		MinVersion     string
		VersionCompare []struct {
			A, B string
			Cmp  int
		}
	}
	seen(t, &v)
	if len(v.VersionCompare) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.VersionCompare {
		t.Run(c.A+" "+c.B, func(t *testing.T) {
			if got := codex.CompareVersions(c.A, c.B); got != c.Cmp {
				t.Errorf("CompareVersions(%q, %q) = %d, want %d", c.A, c.B, got, c.Cmp)
			}
			if got := codex.CompareVersions(c.B, c.A); got != -c.Cmp {
				t.Errorf("CompareVersions(%q, %q) = %d, want %d", c.B, c.A, got, -c.Cmp)
			}
		})
	}
	if v.MinVersion != "0.125.0" {
		t.Errorf("the floor is %s, the default of codex.min_version is 0.125.0", v.MinVersion)
	}
}

func TestEnvironVectors(t *testing.T) {
	var v struct {
		SpawnEnv []struct {
			BaseEnv map[string]string
			Options struct {
				Env      map[string]string
				ClearEnv []string
			}
			Platform string
			Env      map[string]string
		}
	}
	seen(t, &v)
	if len(v.SpawnEnv) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.SpawnEnv {
		t.Run(c.Platform+" "+strings.Join(c.Options.ClearEnv, ","), func(t *testing.T) {
			goos := c.Platform
			if goos == "win32" {
				goos = "windows"
			}
			got := make(map[string]string)
			for _, pair := range codex.EnvironOn(pairs(c.BaseEnv), c.Options.Env, c.Options.ClearEnv, goos) {
				name, value, _ := strings.Cut(pair, "=")
				got[name] = value
			}
			if diff := cmp.Diff(c.Env, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func pairs(m map[string]string) []string {
	var all []string
	for name, value := range m {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

func TestVersionOf(t *testing.T) {
	for text, want := range map[string]string{
		"editor/0.169.0 (Debian 12.0.0; x86_64) xterm (editor; 0)": "0.169.0",
		"my editor/0.170.0-alpha.2 (x)":                            "0.170.0-alpha.2",
		"codex-cli 0.169.0\n":                                      "0.169.0",
		"nothing":                                                  "",
		"":                                                         "",
	} {
		if got := codex.VersionOf(text); got != want {
			t.Errorf("VersionOf(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestTooOld(t *testing.T) {
	for _, c := range []struct {
		version string
		bad     bool
	}{{"0.169.0", false}, {"0.125.0", false}, {"0.124.9", true}, {"0.125.0-alpha", true}, {"1.0", false}, {"", true}} {
		if err := codex.TooOld(c.version, "0.125.0"); (err != nil) != c.bad {
			t.Errorf("TooOld(%q) = %v", c.version, err)
		}
	}
}

func TestInitializeVectors(t *testing.T) {
	var v struct {
		MinVersion string
		Cases      []struct {
			Kind, UserAgent, Result string
			Version                 *string
		}
	}
	seen(t, &v)
	seen := 0
	for _, c := range v.Cases {
		if c.Kind != "initialize" {
			continue // another test's: what nobody answers is in relay/answer, the rest in DEVIATIONS.md
		}
		seen++
		t.Run(c.UserAgent, func(t *testing.T) {
			want := ""
			if c.Version != nil {
				want = *c.Version
			}
			got := codex.VersionOf(c.UserAgent)
			if got != want {
				t.Errorf("the version is %q, want %q", got, want)
			}
			if err := codex.TooOld(got, v.MinVersion); (err == nil) != (c.Result == "ok") {
				t.Errorf("with %q: %v, want %s", got, err, c.Result)
			}
		})
	}
	if seen == 0 {
		t.Fatal("no cases")
	}
}
