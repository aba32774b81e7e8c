package policy_test

import (
	"slices"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// Keys of a trusted project count as narrowing unless it is known that a thread without them may do no more.
func TestProjectLayersNarrow(t *testing.T) {
	for name, test := range map[string]struct {
		config, params string
		restores       bool
		want           []string
	}{
		"only adds":         {`{"model":"m","developer_instructions":"x","notify":["x"],"hooks":{},"mcp_servers":{"new":{"command":"x"}},"sandbox_mode":"danger-full-access"}`, `{"approvalPolicy":"never"}`, false, nil},
		"sandbox":           {`{"sandbox_mode":"workspace-write","default_permissions":":read-only"}`, `{}`, false, []string{"default_permissions", "sandbox_mode"}},
		"sandbox named":     {`{"sandbox_mode":"read-only","default_permissions":":read-only"}`, `{"sandbox":"workspace-write"}`, false, nil},
		"profile named":     {`{"sandbox_mode":"read-only"}`, `{"permissions":":workspace"}`, false, nil},
		"null":              {`{"sandbox_mode":"read-only","features":null}`, `{"sandbox":null}`, false, []string{"sandbox_mode"}},
		"approval":          {`{"approval_policy":"on-request","approvals_reviewer":"user"}`, `{}`, false, []string{"approval_policy", "approvals_reviewer"}},
		"approval named":    {`{"approval_policy":"on-request","approvals_reviewer":"user"}`, `{"approvalPolicy":"never","approvalsReviewer":"user"}`, false, nil},
		"approval restored": {`{"approval_policy":"on-request"}`, `{}`, true, nil},
		"user's server":     {`{"mcp_servers":{"theirs":{"default_tools_approval_mode":"prompt"}}}`, `{}`, false, []string{"mcp_servers"}},
		"others":            {`{"features":{"shell_tool":false},"model_provider":"p","permissions":{},"shell_environment_policy":{"exclude":["X"]}}`, `{"sandbox":"read-only"}`, false, []string{"features", "model_provider", "permissions", "shell_environment_policy"}},
	} {
		doc, err := rpc.ParseValue([]byte(`{"layers":[
			{"name":{"type":"project","dotCodexFolder":"/p/sub/.codex"},"disabledReason":"untrusted","config":{"features":{}}},
			{"name":{"type":"project","dotCodexFolder":"/p/.codex"},"config":` + test.config + `},
			{"name":{"type":"user","file":"/home/config.toml"},"config":{"mcp_servers":{"theirs":{}}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		params, err := rpc.ParseValue([]byte(test.params))
		if err != nil {
			t.Fatal(err)
		}
		layers, err := policy.ParseProjectLayers(doc.Root(), params.Root(), test.restores)
		if err != nil || len(layers) != 1 || layers[0].Folder != "/p/.codex" || !slices.Equal(layers[0].Narrows, test.want) {
			t.Errorf("%s: %+v, %v; want %q", name, layers, err, test.want)
		}
	}
	for _, result := range []string{`{}`, `{"layers":null}`, `{"layers":[{"name":{"type":"project"}}]}`} {
		doc, err := rpc.ParseValue([]byte(result))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := policy.ParseProjectLayers(doc.Root(), rpc.Value{}, false); err == nil {
			t.Errorf("%s: no error", result)
		}
	}
}
