package approvals_test

import (
	"strings"
	"testing"

	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/rpc"
)

// A consent lasts as long as it says only if the question offers exactly this answer.
func TestConsentSpanNeedsOffer(t *testing.T) {
	const command, patch, tool = "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "mcpServer/elicitation/request"
	offers := func(decisions string) string { return `{"availableDecisions":[` + decisions + `]}` }
	forSession := `{"decision":"acceptForSession"}`
	always := `{"decision":` + amendment + `}`
	keeps := func(span string) string { return `{"action":"accept","_meta":{"persist":` + span + `}}` }
	for _, test := range []struct {
		name, method, params, result string
		want                         approvals.Span
	}{
		{"once", command, offers(`"accept","acceptForSession"`), `{"decision":"accept"}`, approvals.Off},
		{"session", command, offers(`"accept","acceptForSession"`), forSession, approvals.Session},
		{"session, not offered", command, offers(`"accept",` + amendment), forSession, approvals.Off},
		{"amendment", command, offers(`"accept",` + amendment), strings.Replace(always, `:{"e`, `: { "e`, 1), approvals.Always},
		{"wider amendment", command, offers(`"accept",` + amendment), strings.Replace(always, "make", "touch", 1), approvals.Off},
		{"emptied amendment", command, offers(`"accept",` + amendment), strings.Replace(always, `"make"`, "", 1), approvals.Off},
		{"amendment with more", command, offers(`"accept",` + amendment), strings.Replace(always, `]}`, `],"x":1}`, 1), approvals.Off},
		{"amendment, not offered", command, offers(`"accept"`), always, approvals.Off},
		{"amendment without a list", command, `{}`, always, approvals.Off},
		{"network", command, offers(`"accept"`), `{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"h","action":"allow"}}}}`, approvals.Off},
		{"patch", patch, `{}`, forSession, approvals.Session},
		{"tool", tool, `{"_meta":{"persist":["session","always"]}}`, keeps(`"always"`), approvals.Always},
		{"tool, one text", tool, `{"_meta":{"persist":"session"}}`, keeps(`"session"`), approvals.Session},
		{"tool, more than offered", tool, `{"_meta":{"persist":["session"]}}`, keeps(`"always"`), approvals.Off},
		{"tool, not offered", tool, `{"_meta":{}}`, keeps(`"session"`), approvals.Off},
		{"tool, a list", tool, `{"_meta":{"persist":["session"]}}`, keeps(`["session"]`), approvals.Off},
	} {
		if got := approvals.ConsentSpan(test.method, parsed(t, test.params), parsed(t, test.result)); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func parsed(t *testing.T, text string) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}
