package config_test

import (
	"slices"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
)

// A date holds to the end of its day in UTC, a time up to itself. A text that Load refuses ends at once.
func TestRuleEnds(t *testing.T) {
	for text, want := range map[string]string{
		"2026-12-31":                "2027-01-01T00:00:00Z",
		"2028-02-29":                "2028-03-01T00:00:00Z",
		"2026-12-31T18:00:00Z":      "2026-12-31T18:00:00Z",
		"2026-12-31T18:00:00+02:00": "2026-12-31T16:00:00Z",
		"2026-12-31T18:00:00.5Z":    "2026-12-31T18:00:00.5Z",
		"2026-02-30":                "1970-01-01T00:00:00Z",
		"0001-01-01T00:00:00Z":      "1970-01-01T00:00:00Z",
	} {
		r := config.Rule{Until: text}
		ends := r.Ends()
		if got := ends.UTC().Format(time.RFC3339Nano); got != want {
			t.Errorf("%s ends %s, not %s", text, got, want)
		}
		if r.IsExpired(ends.Add(-1)) || !r.IsExpired(ends) {
			t.Errorf("%s does not end at its end", text)
		}
	}
	if r := (config.Rule{}); !r.Ends().IsZero() || r.IsExpired(time.Now()) {
		t.Error("a rule without until ends")
	}
}

func TestRuleIsNamedForPeople(t *testing.T) {
	for _, test := range []struct {
		rule config.Rule
		want string
	}{
		{config.Rule{Decision: "deny"}, ""},
		{config.Rule{Decision: "deny", Reason: "No."}, "No."},
		{config.Rule{Decision: "deny", Reason: "No.", Ticket: "OPS-7"}, "No (ticket OPS-7)"},
		{config.Rule{Decision: "ask", Reason: "Two.", Approvers: "release"}, "Two (approvers release)"},
		{config.Rule{Decision: "ask", Owner: "platform", Ticket: "OPS-7", Until: "2026-12-31"}, "a rule says ask (owner platform, ticket OPS-7, until 2026-12-31)"},
	} {
		if got := test.rule.Why(); got != test.want {
			t.Errorf("%+v is %q, not %q", test.rule, got, test.want)
		}
	}
	p := config.Policy{Rules: []config.Rule{
		{Tool: "mcp", Decision: "ask", Until: "2026-01-01"}, {Path: "/x", Decision: "allow", Until: "2026-01-02"}, {Command: "make", Decision: "deny"},
	}}
	want := []string{`default: the rule for tool "mcp" has expired, its ask still holds (until 2026-01-01)`}
	if got := p.ExpiredRules(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
