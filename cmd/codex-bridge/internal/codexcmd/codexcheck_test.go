package codexcmd

import (
	"testing"

	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/releasediff"
)

// The verdict says in words what changed, what the configuration does with new methods, and what does not work.
func TestCheckVerdict(t *testing.T) {
	request, told := methods.ClientRequest, methods.ServerNotification
	method := releasediff.Change{Change: "new method", Kind: releasediff.Method, Side: &request}
	notification := releasediff.Change{Change: "new method", Kind: releasediff.Method, Side: &told}
	field := releasediff.Change{Change: "new field", Kind: releasediff.Field, Side: &request}
	gone := releasediff.Change{Change: "gone flag", Kind: releasediff.Flag}
	enforce, allows := config.Default(), config.Default()
	enforce.Policy.Mode, allows.Policy.Mode, allows.Policy.UnknownMethods = config.Enforce, config.Enforce, "allow"
	for want, c := range map[string]struct {
		cfg   *config.Config
		check codexCheck
	}{
		"Codex 9: nothing new; nothing known has changed; everything tried works":                                      {enforce, codexCheck{}},
		"Codex 9: 1 new method, refused; nothing known has changed; everything tried works":                            {enforce, codexCheck{Changes: []releasediff.Change{method}}},
		"Codex 9: 2 new methods, refused; 2 other new names; 1 known name changed or gone; everything tried works":     {enforce, codexCheck{Changes: []releasediff.Change{method, gone, notification, method, field}}},
		"Codex 9: 1 new method, passed on under your configuration; nothing known has changed; everything tried works": {allows, codexCheck{Changes: []releasediff.Change{method}}},
		"Codex 9: 1 new method, passed on under your configuration; 1 part not compared; everything tried works":       {config.Default(), codexCheck{Changes: []releasediff.Change{method}, NotCompared: map[release.Part]string{release.PartFlags: "x"}}},
		"Codex 9: 1 new name; nothing known has changed; 2 of 3 conversations do not work: fork, tools":                {enforce, codexCheck{Changes: []releasediff.Change{field}, Tried: []codexTrial{{Name: "turn"}, {Name: "fork", Error: "x"}, {Name: "tools", Error: "x"}}}},
		"Codex 9: its names could not be compared; everything tried works":                                             {enforce, codexCheck{CompareError: "x"}},
	} {
		c.check.Codex = "9"
		if got := c.check.verdict(c.cfg); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
