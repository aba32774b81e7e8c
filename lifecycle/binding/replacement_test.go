package binding_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
)

// The limits of a thread are those of the request, else those of Codex's response, else the strictest. They
// survive a write and a read.
func TestLimitsOfReplacement(t *testing.T) {
	for name, test := range map[string]struct{ asked, result, want string }{
		"of the request": {
			`{"approvalPolicy":{"granular":{"rules":false}},"sandbox":"read-only","serviceTier":"flex"}`, `{"approvalPolicy":"never","sandbox":{"type":"dangerFullAccess"}}`,
			`{"approvalPolicy":{"granular":{"rules":false}},"sandbox":"read-only","serviceTier":"flex"}`,
		},
		"of the response": {
			`{"approvalPolicy":null}`, `{"approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":{"type":"workspaceWrite"}}`,
			`{"approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":"workspace-write","config":{"sandbox_workspace_write.network_access":false}}`,
		},
		"unknown": {`{}`, `{"sandbox":{"type":"new"}}`, `{"approvalPolicy":"untrusted","sandbox":"read-only"}`},
		"profile": {`{"permissions":"mine"}`, `{"approvalPolicy":"never","sandbox":{"type":"workspaceWrite"}}`, `{"approvalPolicy":"never","permissions":"mine"}`},
		"overlay": {
			`{"config":{"mcp_servers":{"x":{"env":{"TOKEN":"secret"}}},"sandbox_workspace_write.exclude_slash_tmp":true,"model":"m"}}`,
			`{"approvalPolicy":"never","sandbox":{"type":"workspaceWrite"}}`,
			`{"approvalPolicy":"never","config":{"sandbox_workspace_write.exclude_slash_tmp":true,"sandbox_workspace_write.network_access":false},"sandbox":"workspace-write"}`,
		},
		"narrow": {
			`{"config":{"web_search":"disabled"}}`, `{"approvalPolicy":"never","sandbox":{"type":"workspaceWrite","networkAccess":true,"excludeTmpdirEnvVar":true,"excludeSlashTmp":true}}`,
			`{"approvalPolicy":"never","config":{"web_search":"disabled","sandbox_workspace_write.exclude_tmpdir_env_var":true,"sandbox_workspace_write.exclude_slash_tmp":true},"sandbox":"workspace-write"}`,
		},
		"beside a table": {
			`{"config":{"sandbox_workspace_write":{"exclude_slash_tmp":true}}}`, `{"approvalPolicy":"never","sandbox":{"type":"workspaceWrite","excludeSlashTmp":true}}`,
			`{"approvalPolicy":"never","config":{"sandbox_workspace_write":{"exclude_slash_tmp":true}},"sandbox":"workspace-write"}`,
		},
	} {
		var b binding.Binding
		b.ThreadID = "t"
		b.KeepLimits(valueOf(t, test.asked), valueOf(t, test.result))
		read, dropped, err := binding.Read(binding.Encode(b), "", time.Time{})
		if err != nil || len(dropped) > 0 {
			t.Fatal(err, dropped)
		}
		checkJSON(t, name, read.StartParams(), test.want)
	}
	checkJSON(t, "a record without limits", binding.Binding{ThreadID: "t"}.StartParams(), `{"approvalPolicy":"untrusted","sandbox":"read-only"}`)
}

func valueOf(t *testing.T, text string) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func checkJSON(t *testing.T, name string, got any, want string) {
	t.Helper()
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

func TestExcluded(t *testing.T) {
	for config, want := range map[string]setting.Excluded{
		`null`: {},
		`{"sandbox_workspace_write":{"exclude_slash_tmp":true,"exclude_tmpdir_env_var":false}}`: {SlashTmp: true},
		`{"sandbox_workspace_write.exclude_tmpdir_env_var":true,"sandbox_workspace_write":{}}`:  {Tmpdir: true},
		`{" sandbox_workspace_write . exclude_slash_tmp ":true}`:                                {SlashTmp: true},
		`{"sandbox_workspace_write":{"exclude_slash_tmp":"true"},"exclude_slash_tmp":true}`:     {},
	} {
		doc, err := rpc.ParseValue([]byte(config))
		if err != nil {
			t.Fatal(err)
		}
		if got := binding.Excluded(doc.Root()); got != want {
			t.Errorf("%s excludes %+v, want %+v", config, got, want)
		}
	}
}
