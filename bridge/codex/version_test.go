package codex_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"codex-cli 0.169.0\n":                  "0.169.0",
		"codex-cli 0.169.0":                    "0.169.0",
		"codex-cli 0.169.0\r\n":                "0.169.0",
		"codex-cli 0.170.0-alpha.2\n":          "0.170.0-alpha.2",
		"codex-cli 0.170.0+build.1\n":          "0.170.0+build.1",
		"evil/9.9.9 (x)":                       "",
		"codex-cli 0.169.0 9.9.9\n":            "",
		"codex-cli 0.169.0\n\n":                "",
		"x\ncodex-cli 0.169.0\n":               "",
		"codex-cli 0.169.0\ncodex-cli 1.0.0\n": "",
		"codex-cli 0.169\n":                    "",
		"codex 0.169.0\n":                      "",
		" codex-cli 0.169.0\n":                 "",
		"":                                     "",
	} {
		if got := codex.ParseVersion(text); got != want {
			t.Errorf("ParseVersion(%q) = %q, want %q", text, got, want)
		}
	}
}

// Codex is run once, with its own arguments and environment, but for CODEX_HOME. Output in another
// form is an error.
func TestProgramVersion(t *testing.T) {
	for _, c := range []struct{ name, script, version, fault string }{
		{"a version", `echo "codex-cli $WANT"`, "0.150.1", ""},
		{"not in Codex's folder", `[ "$CODEX_HOME" = /mine ] && exit 4; echo "codex-cli 0.150.0"`, "0.150.0", ""},
		{"on stderr", `echo "codex-cli 9.9.9" >&2; echo "codex-cli 0.150.0"`, "0.150.0", ""},
		{"only on stderr", `echo "codex-cli 9.9.9" >&2`, "", "expected a version"},
		{"more than a version", `echo hello; echo "codex-cli 9.9.9"`, "", "expected a version"},
		{"it fails", `echo "codex-cli 9.9.9"; echo why >&2; exit 3`, "", "exit status 3: why"},
		{"too much", `yes`, "", "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			script, calls := filepath.Join(t.TempDir(), "codex"), filepath.Join(t.TempDir(), "calls")
			text := "#!/bin/sh\n[ \"$*\" = '--before --version' ] || exit 9\necho >>" + calls + "\n" + c.script + "\n"
			if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
			p := codex.NewProgram(codex.Command{Path: script, Args: []string{"--before"}, Env: append(os.Environ(), "WANT=0.150.1", "CODEX_HOME=/mine")})
			for range 2 {
				version, err := p.Version(t.Context())
				if version != c.version || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
					t.Errorf("%q, %v; want %q, %q", version, err, c.version, c.fault)
				}
			}
			if text, err := os.ReadFile(calls); err != nil || len(text) != 1 {
				t.Errorf("it was run %d times (%v)", len(text), err)
			}
			err := p.RequireVersion(t.Context(), codex.Range{Min: "0.150.1"})
			if (err == nil) != (c.version == "0.150.1") {
				t.Errorf("AtLeast: %v", err)
			}
		})
	}
}

// The version after exactly the client's name counts. Any other userAgent leaves it to codex --version.
func TestReadUserAgent(t *testing.T) {
	const override = "CODEX_INTERNAL_ORIGINATOR_OVERRIDE"
	for _, c := range []struct{ agent, client, env, version string }{
		{"nvim/0.168.0 (Debian 12; x86_64) xterm (nvim; 1)", "nvim", "", "0.168.0"},
		{"nvim/0.170.0-alpha.2+x (D)", "nvim", "", "0.170.0-alpha.2+x"},
		{"x/9.9.9 (/0.168.0 (D)", "x/9.9.9 (", "", "0.168.0"},
		{"/0.168.0 (D)", "", "", "0.168.0"},
		{"x_y/0.168.0 (D)", "x\x01y", "", "1.2.3"},        // Codex has replaced a character
		{"x/9.9.9 (/0.168.0 (D)", "y", "", "1.2.3"},       // of another client
		{"x/9.9.9 (/0.168.0 (D)", "x/9.9.9", "", "1.2.3"}, // no slash after the name
		{"nvim/0.168.0", "nvim", "", "1.2.3"},
		{"nvim/0.168 (D)", "nvim", "", "1.2.3"},
		{"", "", "", "1.2.3"},
		{"x/9.9.9 (/0.168.0 (D)", "x", override + "=x/9.9.9 (", "1.2.3"},
		{"ide/0.168.0 (D)", "x", override + "=ide", "0.168.0"},
		{"/0.168.0 (D)", "x", override + "=", "0.168.0"},
		{"nvim/0.168.0 (D)", "nvim", strings.ToLower(override) + "=x", "1.2.3"}, // not used by this Codex
		{"x/9.9.9 (/0.168.0 (D)", "x/9.9.9 (", override + "=x", "1.2.3"},
		{"ide/0.168.0 (D)", "x", override + "=ide\n" + override + "=y", "1.2.3"}, // which one counts is unknown
	} {
		script := filepath.Join(t.TempDir(), "codex")
		if err := os.WriteFile(script, []byte("#!/bin/sh\necho codex-cli 1.2.3\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		p := codex.NewProgram(codex.Command{Path: script, Env: append(os.Environ(), strings.Split(c.env, "\n")...)})
		p.ReadUserAgent(c.agent, c.client)
		p.ReadUserAgent(c.client+"/9.9.9 (D)", c.client+"?") // must not change it
		version, err := p.Version(t.Context())
		if version != c.version || err != nil {
			t.Errorf("%q of client %q: %q, %v; want %q", c.agent, c.client, version, err, c.version)
		}
		p.ReadUserAgent(c.client+"/9.9.9 (D)", c.client)
		if again, _ := p.Version(t.Context()); again != version {
			t.Errorf("%q: the version has become %q", c.agent, again)
		}
	}
}

// A maximum and a minimum that are pre-releases exclude the other pre-releases of the version.
func TestRangeOfPreReleases(t *testing.T) {
	r := codex.Range{Min: "0.171.0-alpha.2", Max: "0.171.0-alpha.10"}
	for version, want := range map[string]bool{
		"0.171.0-alpha.1": false, "0.171.0-alpha.2": true, "0.171.0-alpha.10": true, "0.171.0-alpha.11": false, "0.171.0-beta.1": false,
		"0.171.0": false, "0.170.0": false, "": false, "nonsense": false,
	} {
		if err := r.Check(version); (err == nil) != want {
			t.Errorf("%q: %v", version, err)
		}
	}
	if err := (codex.Range{Min: "0.166.0", Max: "0.171.0"}).Check("0.171.0-alpha.1"); err != nil {
		t.Error(err)
	}
	if err := (codex.Range{Min: "0.171.0"}).Check("0.171.0-alpha.1"); err == nil {
		t.Error("a pre-release is before its release")
	}
}

func TestRange(t *testing.T) {
	limited := codex.Range{Min: "0.166.0", Max: "0.169.0", MaxPlace: "managed file:4"}
	for _, c := range []struct {
		r             codex.Range
		version, want string
	}{
		{codex.Range{Min: "0.166.0"}, "9.9.9", ""},
		{limited, "0.166.0", ""},
		{limited, "0.169.0", ""},
		{limited, "0.169.0-alpha.3", ""},
		{limited, "0.170.0-alpha.1", "codex is 0.170.0-alpha.1; codex.max_version allows no later one than 0.169.0 (managed file:4): install 0.166.0 to 0.169.0, or raise codex.max_version"},
		{limited, "0.165.0", "codex is 0.165.0; 0.166.0 or later is needed: update it"},
		{codex.Range{Max: "0.169.0", MaxPlace: "x"}, "0.171.0", "codex is 0.171.0; codex.max_version allows no later one than 0.169.0 (x): install 0.169.0 or earlier, or raise codex.max_version"},
		{codex.Range{Min: "0.170.0", Max: "0.169.0", MaxPlace: "x"}, "0.169.0", "no codex is from 0.170.0 (codex.min_version) to 0.169.0 (codex.max_version, x): change one of them"},
	} {
		got := ""
		if err := c.r.Check(c.version); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v with %s: %q, want %q", c.r, c.version, got, c.want)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for _, c := range []struct {
		version string
		bad     bool
	}{{"0.169.0", false}, {"0.125.0", false}, {"0.124.9", true}, {"0.125.0-alpha", true}, {"1.0", false}, {"", true}} {
		if err := codex.CheckVersion(c.version, "0.125.0"); (err != nil) != c.bad {
			t.Errorf("TooOld(%q) = %v", c.version, err)
		}
	}
}
