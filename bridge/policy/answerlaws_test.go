package policy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/rpc"
)

// checkAnswer checks properties of every decided response.
func checkAnswer(t tester, cfg config.Policy, asked serverrequest.Request, m *rpc.Message, d policy.Decision, st policy.State) {
	t.Helper()
	switch d.Verdict {
	case policy.Pass:
		if !bytes.Equal(d.Message, m.Bytes()) || len(d.Changes) > 0 {
			t.Errorf("passed, but changed: %+v", d)
		}
	case policy.Deny:
		if d.Message != nil {
			break // Codex gets the response that declines
		}
		// Codex gets an error and declines. The bridge corrects only answers about tools.
		if d.Refusal().Rule != "protocol" || asked.Method != "item/tool/requestUserInput" && asked.Method != "mcpServer/elicitation/request" {
			t.Errorf("denied: %v", d.Err)
		}
		return
	}
	for _, c := range d.Changes {
		if c.Field == "" || c.Rule == "" || c.Reason == "" || bytes.Equal(c.From, c.To) {
			t.Errorf("a change without words, or of nothing: %+v", c)
		}
	}
	again, err := rpc.ParseMessage(d.Message)
	if err != nil {
		t.Fatalf("%s: %v", d.Message, err)
	}
	if !bytes.Equal(again.ID.Raw(), m.ID.Raw()) {
		t.Errorf("the id is %s, was %s", again.ID.Raw(), m.ID.Raw())
	}
	if d.Verdict != policy.Pass {
		if second := serverrequest.DecideAnswer(compile(t, cfg), asked, again, st); second.Verdict != policy.Pass {
			t.Errorf("not idempotent:\n%s\n%s\n%+v", d.Message, second.Message, second.Changes)
		}
	}
	safeAnswer(t, cfg, asked, again)
}

// safeAnswer checks Codex's result without the package's code: nothing lasts, exceeds the offer or
// the request, or violates the policy.
func safeAnswer(t tester, cfg config.Policy, asked serverrequest.Request, m *rpc.Message) {
	t.Helper()
	if m.Kind != rpc.Response {
		return
	}
	var result struct {
		Decision    any
		Scope       *string
		Permissions struct {
			Network    *struct{ Enabled bool }
			FileSystem struct {
				Read, Write []string
				Entries     []struct {
					Access string
					Path   struct{ Type, Path string }
				}
			}
		}
		StrictAutoReview *bool
	}
	err := json.Unmarshal(m.Result.Raw(), &result)
	switch asked.Method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		if s, ok := result.Decision.(string); err != nil || !ok || !slices.Contains([]string{"accept", "decline", "cancel"}, s) {
			t.Errorf("codex gets the decision %s", m.Result.Raw())
		}
		if offered := string(asked.Params.Get("availableDecisions").Raw()); offered != "" && offered != "null" && result.Decision == "accept" && !strings.Contains(offered, `"accept"`) {
			t.Errorf("accepted, and %s was offered", offered)
		}
	case "execCommandApproval", "applyPatchApproval":
		if s, ok := result.Decision.(string); ok && s != "approved" && s != "abort" && s != "timed_out" && s != "denied" {
			t.Errorf("codex gets the decision %s", m.Result.Raw())
		}
		if o, ok := result.Decision.(map[string]any); err != nil || ok && (len(o) != 1 || o["denied"] == nil) {
			t.Errorf("codex gets the decision %s", m.Result.Raw())
		}
	case "item/permissions/requestApproval":
		p := result.Permissions
		if err != nil || result.Scope != nil && *result.Scope != "turn" {
			t.Errorf("codex gets the grant %s (%v)", m.Result.Raw(), err)
		}
		if p.Network != nil && p.Network.Enabled && (!cfg.Network || !strings.Contains(string(asked.Params.Get("permissions").Get("network").Raw()), "true")) {
			t.Errorf("codex gets the network: %s", m.Result.Raw())
		}
		if result.StrictAutoReview != nil && *result.StrictAutoReview && !slices.Contains(cfg.Reviewers, "auto_review") {
			t.Errorf("a model decides in the person's place: %s", m.Result.Raw())
		}
		writes := p.FileSystem.Write
		for _, e := range p.FileSystem.Entries {
			if e.Access == "write" {
				writes = append(writes, e.Path.Path)
				if e.Path.Type != "path" {
					t.Errorf("codex gets %s", m.Result.Raw())
				}
			}
		}
		for _, path := range writes {
			if cfg.Sandbox == "read-only" || cfg.Sandbox == "workspace-write" && !strings.HasPrefix(path+"/", "/code/proj/") && !strings.HasPrefix(path+"/", "/srv/out/") && !strings.HasPrefix(path+"/", "/home/") ||
				strings.Contains(path, "/code/proj/out") || strings.Contains(path, "..") {
				t.Errorf("codex may write %s under %s", path, cfg.Sandbox)
			}
			if cfg.Sandbox == "workspace-write" && !slices.Contains(cfg.WritableRoots, "${workspace}/.git") && (strings.Contains(path+"/", "/.git/") || strings.Contains(path, "/.Codex/")) {
				t.Errorf("codex may write %s, which workspace-write keeps", path)
			}
			if !strings.Contains(string(asked.Params.Get("permissions").Raw()), `"`) {
				t.Errorf("codex gets %s, and has asked for nothing", path)
			}
		}
	case "mcpServer/elicitation/request":
		if !asked.Params.Get("_meta").Get("codex_approval_kind").Exists() {
			break // a question of the server's own
		}
		var result struct {
			Action  string
			Meta    map[string]any `json:"_meta"`
			Content map[string]any
		}
		if err := json.Unmarshal(m.Result.Raw(), &result); err != nil || result.Meta["persist"] != nil {
			t.Errorf("codex gets %s (%v)", m.Result.Raw(), err)
		}
		for key := range result.Content {
			if !asked.Params.Get("requestedSchema").Get("properties").Get(key).Exists() || strings.HasPrefix(key, "mcp_tool_call_approval") {
				t.Errorf("codex gets %s", m.Result.Raw())
			}
		}
	case "item/tool/requestUserInput":
		if !asked.Params.Get("questions").Exists() {
			break // a question of the model's own
		}
		var result struct {
			Answers map[string]struct{ Answers []string }
		}
		err := json.Unmarshal(m.Result.Raw(), &result)
		for id, v := range result.Answers {
			if consent := strings.HasPrefix(id, "mcp_tool_call_approval"); consent && !slices.Contains([]string{"", "Allow", "Cancel"}, strings.Join(slices.Compact(v.Answers), "")) {
				t.Errorf("codex gets %s", m.Result.Raw())
			}
		}
		if err != nil {
			t.Errorf("codex gets %s (%v)", m.Result.Raw(), err)
		}
	}
}

var askedForms = []string{
	`item/commandExecution/requestApproval {}`,
	`item/commandExecution/requestApproval {"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["ls"]}},"cancel"]}`,
	`item/commandExecution/requestApproval {"availableDecisions":["acceptForSession","cancel"]}`,
	`item/fileChange/requestApproval {}`,
	`item/fileChange/requestApproval {"availableDecisions":null}`,
	`execCommandApproval {}`,
	`applyPatchApproval {}`,
	`item/permissions/requestApproval {"permissions":{"network":{"enabled":true},"fileSystem":{"entries":[{"access":"write","path":{"type":"path","path":"/code/proj"}},{"access":"read","path":{"type":"path","path":"/etc"}}]}}}`,
	`item/permissions/requestApproval {"permissions":{"fileSystem":{"write":["/"],"read":["/"]}}}`,
	`item/permissions/requestApproval {"permissions":{}}`,
	`mcpServer/elicitation/request {"mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session","always"]}}`,
	`mcpServer/elicitation/request {"mode":"form"}`,
	`mcpServer/elicitation/request {"mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call"},"requestedSchema":{"type":"object","properties":{}}}`,
	`item/tool/requestUserInput {}`,
	`item/tool/requestUserInput {"questions":[{"id":"mcp_tool_call_approval_call1"}]}`,
}

var resultForms = []string{
	`{"decision":"accept"}`, `{"decision":"acceptForSession"}`, `{"decision":"decline"}`, `{"decision":"cancel"}`, `{"decision":"\u0061ccept"}`,
	`{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["rm"]}}}`, `{"decision":{"accept":null}}`, `{"decision":["accept"]}`,
	`{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["rm"]},"decline":{}}}`, `{"decision":{"acceptWithExecpolicyAmendment":null}}`,
	`{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"x","action":"allow"}}}}`,
	`{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"x","action":"deny"}}}}`,
	`{"decision":"approved"}`, `{"decision":"approved_for_session"}`, `{"decision":"abort"}`, `{"decision":{"denied":{"rejection":"no"}}}`, `{"decision":{"denied":7}}`,
	`{"decision":{"approved_execpolicy_amendment":{"proposed_execpolicy_amendment":["rm"]}}}`, `{"decision":"approved_mcp_policy_amendment"}`,
	`{"decision":null}`, `{"decision":7}`, `{}`, `null`, `[]`, `"accept"`, `{"decision":"accept","later":1}`, `{"Decision":"acceptForSession"}`,
	`{"permissions":{"network":{"enabled":true}},"scope":"session"}`, `{"permissions":{"network":{"enabled":"yes"}},"scope":{"session":null}}`, `{"permissions":null}`,
	`{"permissions":{"fileSystem":{"write":["/","/code/proj","/code/proj/out","/code/proj/../..","~","x"],"read":["/etc"]}},"scope":"turn","strictAutoReview":"no"}`,
	`{"permissions":{"fileSystem":{"entries":[{"access":"write","path":{"type":"path","path":"/code/proj/in"}},{"access":"write","path":{"type":"special","value":{"kind":"root"}}},{"access":"write","path":{"type":"glob_pattern","pattern":"/**"}},{"access":"deny","path":{"type":"path","path":"/code/proj/x"}}]}}}`,
	`{"permissions":{"fileSystem":{"entries":[["write","/"],{"access":{"write":null},"path":{"type":"path","path":"/"}},{"access":"write","path":["path","/"]}]}}}`,
	`{"permissions":{"fileSystem":["/"],"later":{"a":1}},"strictAutoReview":true}`,
	`{"action":"accept","content":{},"_meta":{"persist":"always"}}`, `{"action":"accept","_meta":["always"]}`, `{"action":["accept"]}`, `{"action":"decline","content":null,"_meta":null}`,
	`{"action":"accept","content":{"mcp_tool_call_approval_call1":"Allow and don't ask me again"}}`, `{"action":"accept","content":"Allow for this session"}`,
	`{"permissions":{"fileSystem":{"write":["/code/proj/.git","/code/proj/a/.Codex/x"]}}}`, `{"permissions":{"fileSystem":{"write":["/code/proj/sub"]}},"strictAutoReview":true}`,
	`{"permissions":{"fileSystem":{"entries":[{"access":"write","path":{"type":"path","path":"/code/proj/.git/hooks"}}]}}}`,
	`{"answers":{"q":{"answers":["yes"]}}}`, `{"answers":{"mcp_tool_call_approval_call1":{"answers":["Allow"]}}}`, `{"answers":["Allow"]}`,
	`{"answers":{"mcp_tool_call_approval_call1":{"answers":["Allow and don't ask me again","Allow"]}}}`,
	`{"answers":{"mcp_tool_call_approval_call1":{"answers":["Allow","Cancel",7]}}}`, `{"answers":{"mcp_tool_call_approval_call1":[["Allow for this session"]]}}`,
	`{"answers":{"mcp_tool_call_approval_x":{"answers":["Allow for this session"],"later":1}}}`,
}

// TestAnswerLaws checks that Codex gets a safe result for any request and any response.
func TestAnswerLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, st := drawPolicy(t), drawState(t)
		st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj"}
		method, params, _ := strings.Cut(rapid.SampledFrom(askedForms).Draw(t, "asked"), " ")
		doc, err := rpc.ParseValue([]byte(params))
		if err != nil {
			t.Fatal(err)
		}
		asked := serverrequest.Request{Method: method, Params: doc.Root()}
		line := fmt.Sprintf(`{"id":%s,"result":%s}`, rapid.SampledFrom([]string{"0", `"x"`, "-7"}).Draw(t, "id"), rapid.SampledFrom(resultForms).Draw(t, "result"))
		m, err := rpc.ParseMessage([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		checkAnswer(t, cfg, asked, m, serverrequest.DecideAnswer(compile(t, cfg), asked, m, st), st)
	})
}
