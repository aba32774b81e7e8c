package answer_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"codex-bridge.example/relay/answer"
)

// legacyFits reports whether a result fits the schema of the legacy approvals.
func legacyFits(raw []byte) bool {
	var plain struct{ Decision string }
	if json.Unmarshal(raw, &plain) == nil {
		return plain.Decision == "approved" || plain.Decision == "approved_for_session" || plain.Decision == "abort"
	}
	var denied struct {
		Decision struct{ Denied struct{ Rejection string } }
	}
	return json.Unmarshal(raw, &denied) == nil && denied.Decision.Denied.Rejection != ""
}

var asked = []string{
	"item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
	"execCommandApproval", "applyPatchApproval",
}

// Codex can read every answer to an approval, and only an approval consents.
func TestApprovalProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offer := rapid.SampledFrom([]string{
			`"accept"`, `"acceptForSession"`, `"decline"`, `"cancel"`, `"x"`, `7`, `null`, `{}`,
			`{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["ls"]}}`, `{"acceptWithExecpolicyAmendment":{}}`,
			`{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"h","action":"allow"}}}`,
			`{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"h","action":"deny"}}}`,
		})
		text := `{}`
		if rapid.Bool().Draw(t, "offers") {
			text = `{"availableDecisions":[` + strings.Join(rapid.SliceOfN(offer, 0, 5).Draw(t, "offer"), ",") + `]}`
		}
		method := rapid.SampledFrom(asked).Draw(t, "method")
		outcome := answer.Outcome(rapid.IntRange(-1, 6).Draw(t, "outcome"))
		checkApproval(t, method, text, outcome)
	})
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func checkApproval(t fataler, method, params string, outcome answer.Outcome) {
	t.Helper()
	doc, err := parse(params)
	if err != nil {
		return
	}
	got, ok := answer.Approval(method, doc, outcome)
	if !ok {
		t.Fatalf("%s is not answered", method)
	}
	if method == "item/permissions/requestApproval" {
		var r struct {
			Permissions map[string]map[string]any
			Scope       string
		}
		if err := json.Unmarshal(got, &r); err != nil || r.Scope != "turn" && r.Scope != "session" {
			t.Fatalf("%s: %v", got, err)
		}
		if !outcome.Approved() && (len(r.Permissions) > 0 || r.Scope != "turn") {
			t.Fatalf("%s grants %s", outcome, got)
		}
		return
	}
	if !strings.HasPrefix(method, "item/") {
		if !legacyFits(got) || !outcome.Approved() && strings.Contains(string(got), "approved") {
			t.Fatalf("%s is answered %s", outcome, got)
		}
		return
	}
	var r struct{ Decision json.RawMessage }
	if err := json.Unmarshal(got, &r); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	session := outcome == answer.ApprovedSession
	switch d := string(r.Decision); {
	case d == `"decline"`, d == `"cancel"`, d == `"accept"` && outcome.Approved(), d == `"acceptForSession"` && session:
	case session && strings.HasPrefix(d, `{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":[`):
	case session && strings.HasPrefix(d, `{"applyNetworkPolicyAmendment":`) && strings.Contains(d, `"allow"`):
	default:
		t.Fatalf("%s is answered %s", outcome, got)
	}
}

func FuzzApproval(f *testing.F) {
	f.Add(0, `{"permissions":{"network":{"enabled":true}},"availableDecisions":["cancel"]}`, 4)
	f.Add(2, `{"permissions":{"fileSystem":{"entries":[{"access":"write","path":{"type":"path","path":"/"}}]}}}`, 3)
	f.Fuzz(func(t *testing.T, method int, params string, outcome int) {
		m := asked[uint(method)%uint(len(asked))]
		if strings.Contains(params, "Amendment") {
			return // what codex offers of these goes back as it came
		}
		checkApproval(t, m, params, answer.Outcome(outcome))
		doc, err := parse(params)
		if err != nil {
			return
		}
		if card, ok := answer.ApprovalCard(m, doc, params); ok {
			if n := len([]rune(card.Description)); n > 256 || n == 0 {
				t.Fatalf("a description of %d characters", n)
			}
			harmless(t, strings.ReplaceAll(card.Description, "\n", ""))
		}
	})
}

func harmless(t fataler, text string) {
	t.Helper()
	for _, r := range text {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Fatalf("%q shows %U", text, r)
		}
	}
}

func FuzzDisplay(f *testing.F) {
	for _, seed := range []string{"a\x1b[31mb", "\x1b]8;;http://x\x07", "\u202eabc\u200b", "\u009b1m", "a\x1b", "\xff\x1b\x1b[["} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown, clean := answer.Display(text), answer.Clean(text)
		harmless(t, shown)
		harmless(t, clean)
		if shown == "" || strings.ContainsAny(shown, "<>@`[]") {
			t.Fatalf("%q is shown as %q", text, shown)
		}
		if again := answer.Clean(clean); again != clean {
			t.Fatalf("%q is cleaned to %q, and that to %q", text, clean, again)
		}
	})
}
