package telemetry_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/telemetry"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// entry is a decision with a text in each member.
func entry(verdict, mode string) decision.Entry {
	return decision.Entry{Seq: 7, Hash: strings.Repeat("a", 64), Previous: strings.Repeat("0", 64), Record: decision.Record{
		Time: time.UnixMilli(1_700_000_000_123), Client: "zed 1", Thread: "t", Turn: "u", Method: "turn/start", Verdict: verdict, Mode: mode,
		Rule: "policy.sandbox", Reason: "too loose", Origin: "config.toml:4", Fields: []string{"sandbox", "cwd"}, Message: strings.Repeat("b", 64),
	}}
}

func ocsfSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../testdata/ocsf/api_activity-1.8.0.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validate(t *testing.T, schema *jsonschema.Schema, e telemetry.OCSFEvent) error {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(v)
}

// Events have the owner and ticket of a rule, the approvers, and the chain of a fleet log.
func TestEventsOfRulesApproversAndChains(t *testing.T) {
	schema := ocsfSchema(t)
	rule := config.Rule{Decision: "deny", Reason: "Frozen.", Owner: "release", Ticket: "OPS-7", Until: "2026-12-01", Approvers: "leads"}
	for _, tt := range []struct{ verdict, reason string }{
		{"deny", rule.Why()},
		{"accept", "approved by leads: SHA256:" + strings.Repeat("k", 43) + "; request 7f"},
		{"deny", "an approver, SHA256:k, has declined"},
	} {
		e := entry(tt.verdict, "enforce")
		e.Rule, e.Reason = "policy.rule.approvers", tt.reason
		from := telemetry.LogSource{Version: "1", Chain: strings.Repeat("c", 32)}
		event := telemetry.OCSF(e, from)
		if err := validate(t, schema, event); err != nil {
			t.Error(err)
		}
		_, values := parseCEF(t, telemetry.CEF(e, from))
		for _, got := range [][2]string{{event.Message, tt.reason}, {event.Policy.Name, e.Rule}, {event.Unmapped.Chain, from.Chain}, {values["msg"], tt.reason}, {values["deviceExternalId"], from.Chain}} {
			if got[0] != got[1] {
				t.Errorf("%q is %q", got[1], got[0])
			}
		}
	}
	for _, part := range []string{"owner release", "ticket OPS-7", "until 2026-12-01", "approvers leads"} {
		if !strings.Contains(rule.Why(), part) {
			t.Errorf("%q has no %s", rule.Why(), part)
		}
	}
}

// Each verdict in each mode is valid by the published schema, with all members and with none.
func TestEventsAreValidOCSF(t *testing.T) {
	schema := ocsfSchema(t)
	for _, verdict := range []string{string(policy.Pass), string(policy.Accept), string(policy.Rewrite), string(policy.Deny), "of a later version", ""} {
		for _, mode := range []config.Mode{config.Off, config.Audit, config.Enforce} {
			full := entry(verdict, string(mode))
			bare := decision.Entry{Record: decision.Record{Verdict: verdict, Mode: string(mode)}}
			for _, e := range []decision.Entry{full, bare} {
				if err := validate(t, schema, telemetry.OCSF(e, telemetry.LogSource{Version: "1.2.3"})); err != nil {
					t.Errorf("%s, %s: %v", verdict, mode, err)
				}
			}
		}
	}
	wrong := telemetry.OCSF(entry("deny", "enforce"), telemetry.LogSource{Version: "1"})
	wrong.TypeUID++
	if validate(t, schema, wrong) == nil {
		t.Error("the schema accepts another type_uid")
	}
}

// The numbers of an outcome have the names that the schema's version gives them.
func TestOutcomesOfVerdicts(t *testing.T) {
	for _, c := range []struct{ verdict, mode, want string }{
		{"deny", "enforce", "2 Denied, 2 Blocked, 3 Medium, 2 Failure, alert true"},
		{"rewrite", "enforce", "4 Modified, 11 Corrected, 2 Low, 1 Success, alert false"},
		{"accept", "enforce", "1 Allowed, 8 Approved, 1 Informational, 1 Success, alert false"},
		{"pass", "enforce", "1 Allowed, 1 Allowed, 1 Informational, 1 Success, alert false"},
		{"deny", "audit", "3 Observed, 17 Logged, 1 Informational, 1 Success, alert false"},
		{"later", "enforce", "99 Other, 99 Other, 0 Unknown, 99 Other, alert false"},
	} {
		e := telemetry.OCSF(entry(c.verdict, c.mode), telemetry.LogSource{Version: "1"})
		got := fmt.Sprintf("%d %s, %d %s, %d %s, %d %s, alert %v", e.ActionID, e.Action, e.DispositionID, e.Disposition, e.SeverityID, e.Severity, e.StatusID, e.Status, e.IsAlert)
		if got != c.want {
			t.Errorf("%s in %s: %s; want %s", c.verdict, c.mode, got, c.want)
		}
	}
}

// No member of a decision is missing in an event.
func TestEventHasAllMembers(t *testing.T) {
	raw, err := json.Marshal(telemetry.OCSF(entry("deny", "enforce"), telemetry.LogSource{Version: "1"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"time":1700000000123`, `"sequence":7`, `"uid":"aaaa`, `"previous":"0000`, `"app_name":"zed 1"`, `"svc_name":"zed 1"`, `"session":{"uid":"t"}`,
		`"correlation_uid":"u"`, `"operation":"turn/start"`, `"verdict":"deny"`, `"mode":"enforce"`, `"policy":{"name":"policy.sandbox","desc":"config.toml:4"}`,
		`"message":"too loose"`, `"fields":["sandbox","cwd"]`, `"value":"bbbb`,
	} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("no %s in %s", part, raw)
		}
	}
}

var (
	cefKey      = regexp.MustCompile(`(?:^| )([A-Za-z0-9]+)=`)
	cefUnescape = strings.NewReplacer(`\\`, `\`, `\=`, `=`, `\n`, "\n", `\r`, "\r")
)

// parseCEF reads a line by the rules of the standard: a header of seven fields with | between them, and
// keys before an = that no backslash escapes.
func parseCEF(t interface{ Fatalf(string, ...any) }, line string) (header []string, values map[string]string) {
	var field strings.Builder
	rest := ""
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
			field.WriteByte(line[i])
			continue
		case line[i] != '|':
			field.WriteByte(line[i])
			continue
		}
		header = append(header, field.String())
		field.Reset()
		if len(header) == 7 {
			rest = line[i+1:]
			break
		}
	}
	if len(header) != 7 || header[0] != "CEF:0" {
		t.Fatalf("the header of %q is %q", line, header)
	}
	values = make(map[string]string)
	// An escaped = has an odd number of backslashes before it, and no key ends in one.
	found := cefKey.FindAllStringSubmatchIndex(rest, -1)
	for i, at := range found {
		end := len(rest)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		values[rest[at[2]:at[3]]] = cefUnescape.Replace(rest[at[1]:end])
	}
	return header, values
}

func TestCEFOfADecision(t *testing.T) {
	e := entry("deny", "enforce")
	e.Rule, e.Reason = `a|b=c\d`, "first = 1\nmsg=x\r\x1b[2J\u202e|end\\"
	line := telemetry.CEF(e, telemetry.LogSource{Version: `1|2\3`})
	if strings.ContainsAny(line, "\n\r\x1b\u202e") {
		t.Errorf("a control character is in %q", line)
	}
	header, values := parseCEF(t, line)
	want := []string{"CEF:0", "codex-bridge", "codex-bridge", `1|2\3`, "deny", "Policy decision: deny", "6"}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("header: -want +got\n%s", diff)
	}
	wantValues := map[string]string{
		"rt": "1700000000123", "externalId": "7", "act": "Denied", "outcome": "Failure", "requestMethod": "turn/start", "sourceServiceName": "zed 1",
		"msg":      "first = 1\nmsg=x\r\\u001b[2J\\u202e|end\\",
		"cs1Label": "rule", "cs1": `a|b=c\d`, "cs2Label": "origin", "cs2": "config.toml:4", "cs3Label": "thread", "cs3": "t", "cs4Label": "turn", "cs4": "u",
		"cs5Label": "mode", "cs5": "enforce", "cs6Label": "fields", "cs6": "sandbox cwd",
		"flexString1Label": "hash", "flexString1": e.Hash, "flexString2Label": "message", "flexString2": e.Message,
	}
	if diff := cmp.Diff(wantValues, values); diff != "" {
		t.Errorf("values: -want +got\n%s", diff)
	}
	e.Reason = strings.Repeat("é", 4000)
	_, values = parseCEF(t, telemetry.CEF(e, telemetry.LogSource{Version: "1"}))
	if got := values["msg"]; len(got) > 1023 || !strings.HasSuffix(got, "é…") {
		t.Errorf("a long reason has %d bytes", len(got))
	}
}

// Any text comes back from an independent parser, in the header and in the values, and takes one line.
func TestCEFRoundTrip(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("a=|\\ \nr\rü1")), 0, 30, -1)
	rapid.Check(t, func(t *rapid.T) {
		e := entry("x"+text.Draw(t, "verdict")+"x", "enforce")
		e.Rule, e.Reason, e.Client = "x"+text.Draw(t, "rule")+"x", "x"+text.Draw(t, "reason")+"x", "x"+text.Draw(t, "client")+"x"
		line := telemetry.CEF(e, telemetry.LogSource{Version: "1"})
		if strings.ContainsAny(line, "\r\n") {
			t.Fatalf("%q has several lines", line)
		}
		header, values := parseCEF(t, line)
		if verdict := strings.NewReplacer("\n", " ", "\r", " ").Replace(e.Verdict); header[4] != verdict {
			t.Errorf("verdict %q is %q", verdict, header[4])
		}
		for key, want := range map[string]string{"cs1": e.Rule, "msg": e.Reason, "sourceServiceName": e.Client, "cs5": "enforce"} {
			if values[key] != want {
				t.Errorf("%s %q is %q in %q", key, want, values[key], line)
			}
		}
	})
}

// The schema in testdata names the version that the events name.
func TestSchemaHasTheVersionOfTheEvents(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/ocsf/api_activity-1.8.0.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if want := "OCSF " + telemetry.OCSF(entry("deny", "enforce"), telemetry.LogSource{Version: "1"}).Metadata.Version + ","; !strings.Contains(string(raw), want) {
		t.Errorf("the schema is not of %s", want)
	}
}
