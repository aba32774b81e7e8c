package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

func parseRequirements(t *testing.T, members string, prompts ...config.Rule) *policy.Requirements {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(`{"requirements":` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := policy.ParseRequirements(doc.Root(), prompts, "requirements.toml")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// withoutQuestions is the approval policy under which Codex asks nothing.
const withoutQuestions = `{"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":false}}`

// A policy gets the values that it has in common with the requirements. Without one no thread is opened.
func TestPolicyWithinRequirements(t *testing.T) {
	base := config.Default().Policy
	base.Mode, base.Approval, base.Reviewers, base.Sandbox = config.Enforce, []string{"untrusted", "never", "granular"}, []string{"user", "auto_review"}, "danger-full-access"
	base.ConfigKeys = []string{"web_search", "features.**"}
	for _, tt := range []struct {
		name, members string
		change        func(*config.Policy)
		params        string // of thread/start
		want          string // a part of what Codex gets, or of the error
	}{
		{"none", `null`, nil, `"approvalPolicy":"never","approvalsReviewer":"auto_review","sandbox":"danger-full-access"`, "unlimited"},
		{"login methods, which Codex always shows", `{"allowedLoginMethods":["api"]}`, nil, ``, "unlimited"},
		{"a value that all have", `{"allowedApprovalPolicies":["on-request","never",{"granular":{}}],"allowedSandboxModes":["read-only","workspace-write","danger-full-access"]}`,
			func(p *config.Policy) { p.Approval = []string{"never"} }, ``, "unlimited"},
		{"approval", `{"allowedApprovalPolicies":["on-request"]}`, nil, `"approvalPolicy":"never"`, "allow Codex no value that asks as little"},
		{"approval of the gate", `{"allowedApprovalPolicies":["on-request"]}`, nil, `"approvalPolicy":{"granular":{"sandbox_approval":true,"rules":true,"mcp_elicitations":true}}`, `"approvalPolicy":"on-request"`},
		{"no questions", `{"allowedApprovalPolicies":["on-request",` + withoutQuestions + `]}`, nil, `"approvalPolicy":"never"`, `"approvalPolicy":` + withoutQuestions},
		{"the gate needs on-request", `{"allowedApprovalPolicies":["untrusted"]}`, nil, ``, "but policy.gate needs on-request"},
		{"without the gate", `{"allowedApprovalPolicies":["untrusted"]}`, func(p *config.Policy) { p.Gate = false }, `"approvalPolicy":"on-request"`, `"approvalPolicy":"untrusted"`},
		{"granular", `{"allowedApprovalPolicies":["never"]}`, nil,
			`"approvalPolicy":{"granular":{"sandbox_approval":true,"rules":true,"mcp_elicitations":true}}`, `"approvalPolicy":"never"`},
		{"reviewer", `{"allowedApprovalsReviewers":["guardian_subagent"]}`, nil, `"approvalsReviewer":"user"`, "do not allow the user"},
		{"reviewer by default", `{"allowedApprovalsReviewers":["guardian_subagent"]}`, nil, `"approvalPolicy":"on-request"`, `"approvalsReviewer":"auto_review"`},
		{"no reviewer", `{"allowedApprovalsReviewers":["auto_review"]}`, func(p *config.Policy) { p.Reviewers = []string{"user"} }, ``, "allow none of its reviewers"},
		{"sandbox", `{"allowedSandboxModes":["read-only"]}`, nil, `"sandbox":"danger-full-access"`, `"sandbox":"read-only"`},
		{"sandbox with a gap", `{"allowedSandboxModes":["read-only","danger-full-access"]}`, nil, `"sandbox":"danger-full-access"`, `"sandbox":"read-only"`},
		{"profiles", `{"allowedPermissionProfiles":{":workspace":true,":read-only":true}}`, nil, ``, "allow only the permissions profiles :workspace, :read-only"},
		{"a profile that is not allowed", `{"allowedPermissionProfiles":{":workspace":true,":read-only":false}}`, func(p *config.Policy) { p.Sandbox = "read-only" }, ``, "allow only the permissions profiles :workspace,"},
		{"the profile of read-only", `{"allowedPermissionProfiles":{":read-only":true}}`, func(p *config.Policy) { p.Sandbox = "read-only" }, ``, "unlimited"},
		{"network", `{"network":{"enabled":true}}`, nil, ``, "experimental_network.enabled"},
		{"network that is off", `{"network":{"enabled":false}}`, nil, ``, "unlimited"},
		{"network that the policy allows", `{"network":{"enabled":true}}`, func(p *config.Policy) { p.Network = true }, ``, "unlimited"},
		{"pinned feature", `{"featureRequirements":{"skill_mcp_dependency_install":true}}`, nil, ``, "enable features.skill_mcp_dependency_install"},
		{"pinned feature that is off", `{"featureRequirements":{"skill_mcp_dependency_install":false}}`, nil, `"approvalPolicy":"never"`, `"approvalPolicy":"never"`},
		{"feature", `{"featureRequirements":{"goals":false}}`, nil, `"config":{"features.goals":true,"features":{"Goals":1,"x":true}}`, `"features":{"x":true`},
		{"feature as required", `{"featureRequirements":{"goals":false}}`, nil, `"config":{"features.goals":false}`, `"features.goals":false`},
		{"web search", `{"allowedWebSearchModes":["cached"]}`, nil, `"config":{"web_search":"live","features.x":true}`, `"config":{"features.x":true`},
		{"web search as allowed", `{"allowedWebSearchModes":["cached"]}`, nil, `"config":{"web_search":"cached"}`, `"web_search":"cached"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := base
			if tt.change != nil {
				tt.change(&cfg)
			}
			p := compile(t, cfg)
			q, refusal := p.Within(parseRequirements(t, tt.members), "thread/start")
			switch {
			case refusal != nil:
				if !strings.Contains(refusal.Message, tt.want) {
					t.Errorf("%q; want %q", refusal.Message, tt.want)
				}
				return
			case q == nil:
				if tt.want != "unlimited" {
					t.Error("the requirements limit nothing")
				}
				return
			case q.Equal(p):
				t.Error("the policies are equal")
			}
			m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"thread/start","params":{"cwd":"/w",` + tt.params + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			st := policy.State{StartFolder: "/w", Home: "/home/u", Paths: plainPaths{}}
			st.Defaults = &policy.Defaults{Cwd: q.Decide(m, st).ConfigCwd}
			d := q.Decide(m, st)
			if d.Err != nil {
				d.Message = []byte(d.Err.Message)
			}
			if !strings.Contains(string(d.Message), tt.want) {
				t.Errorf("codex gets %s; want %s", d.Message, tt.want)
			}
		})
	}
}

// A question that a requirement makes Codex ask is answered neither by an allow rule nor by a remembered answer. Other
// questions are.
func TestRequiredQuestionIsNotAnswered(t *testing.T) {
	cfg := contract()
	cfg.Escalation, cfg.Rules = "ask", []config.Rule{{Command: "touch **", Decision: "allow"}}
	p := compile(t, cfg)
	q, refusal := p.Within(parseRequirements(t, `null`, config.Rule{Tool: "shell", Command: "touch **", Decision: "ask"}), "thread/start")
	if refusal != nil || q == nil {
		t.Fatal(q, refusal)
	}
	for _, test := range []struct {
		policy  *policy.Policy
		command string
		verdict policy.Verdict
		since   bool // no remembered answer counts
	}{
		{p, "touch a", policy.Accept, false},
		{q, "touch a", policy.Pass, true},
		{q, "touch a && ls", policy.Pass, true},
		{q, "ls", policy.Pass, false},
	} {
		st := state()
		st.Escalation = rules.Sandboxed
		st.Thread.Sandbox, st.Thread.Approval = "workspace-write", json.RawMessage(`"on-request"`)
		params := value(t, `{"threadId":"T","turnId":"u","itemId":"i","startedAtMs":0,"command":"`+test.command+`","cwd":"/code/proj"}`)
		if d := serverrequest.Decide(test.policy, "item/commandExecution/requestApproval", params, st); d.Verdict != test.verdict {
			t.Errorf("%s: %s", test.command, d.Verdict)
		}
		if since := serverrequest.Terms(test.policy, "item/commandExecution/requestApproval", params, st).Since; !since.IsZero() != test.since {
			t.Errorf("%s: answers count since %v", test.command, since)
		}
	}
}

func TestParseRequirementsErrors(t *testing.T) {
	for _, members := range []string{`5`, `{"allowedSandboxModes":"read-only"}`} {
		doc, err := rpc.ParseValue([]byte(`{"requirements":` + members + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := policy.ParseRequirements(doc.Root(), nil, ""); err == nil {
			t.Errorf("%s is read as %v", members, r)
		}
	}
}
