package methods_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"

	"github.com/google/go-cmp/cmp"
)

// Every hook event of the tested Codex has a row that a person has judged, and every row such an event.
func TestHooksAreComplete(t *testing.T) {
	want := measured(t).Enums[release.HookEvents]
	var got []string
	upper := regexp.MustCompile(`[A-Z]`)
	for _, e := range methods.HookEvents() {
		if e.Until == "" {
			got = append(got, e.SchemaName())
		}
		if snake := strings.ToLower(upper.ReplaceAllString(e.SchemaName(), "_$0")); e.Event != snake {
			t.Errorf("%s is the event of %s, want %s", e.Event, e.Name, snake)
		}
		if e.Why == "" || strings.Contains(e.Why, "TODO") {
			t.Errorf("%s is not judged: %q", e.Event, e.Why)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codex's schema (-) and the rows (+):\n%s", diff)
	}
}
