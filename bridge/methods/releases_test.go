package methods_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
)

// Since and until of each row are releases that the bridge supports, in order.
func TestSinceAndUntil(t *testing.T) {
	oldest := config.Default().Codex.MinVersion
	for file, text := range map[string]string{
		"methods.txt": methods.MethodTable, "fields.txt": methods.FieldTable, "features.txt": methods.FeatureTable,
		"commands.txt": methods.CommandTable, "flags.txt": methods.FlagTable, "keys.txt": methods.KeyTable, "hooks.txt": methods.HookTable,
	} {
		var columns []string
		for line := range strings.Lines(text) {
			if head, ok := strings.CutPrefix(line, "# "); ok && strings.Contains(line, " | since | until") {
				columns = strings.Split(strings.TrimSpace(head), " | ")
				break
			}
		}
		since, rows := slices.Index(columns, "since"), 0
		if since < 0 {
			t.Errorf("%s: no line names the columns since and until", file)
			continue
		}
		err := methods.EachRow(file, text, len(columns), func(cells []string) error {
			rows++
			if fault := faultOf(cells[since], cells[since+1], oldest); fault != "" {
				t.Errorf("%s: %q: %s", file, cells[:since+2], fault)
			}
			return nil
		})
		if err != nil || rows == 0 {
			t.Errorf("%s: %d rows, %v", file, rows, err)
		}
	}
	for _, c := range [][2]string{{"0.170", ""}, {"latest", ""}, {"", "0.171.0-alpha.1"}, {"0.169.0", "0.168.0"}, {"0.999.0", ""}, {"", methods.Measured}, {oldest, ""}, {"0.1.0", ""}, {"", "0.1.0"}} {
		if faultOf(c[0], c[1], oldest) == "" {
			t.Errorf("%q is accepted", c)
		}
	}
}

var stable = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// faultOf returns the fault of the columns since and until of a row; "" for none.
func faultOf(since, until, oldest string) string {
	for _, version := range []string{since, until} {
		switch {
		case version == "":
		case !stable.MatchString(version):
			return "it is no release"
		case codex.CompareVersions(version, oldest) < 0 || codex.CompareVersions(version, methods.Measured) > 0:
			return "the bridge supports " + oldest + " to " + methods.Measured
		}
	}
	switch {
	case since == oldest || until == methods.Measured:
		return "the cell is empty for the oldest and the newest release"
	case since != "" && until != "" && codex.CompareVersions(since, until) > 0:
		return "since is later than until"
	}
	return ""
}
