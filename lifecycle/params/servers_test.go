package params

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

func value(t *testing.T, text []byte) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func TestPatch(t *testing.T) {
	for _, c := range []struct{ name, defs, patch string }{
		{"off", `{"a":{"command":"x","enabled":false}}`, ""},
		{"off and on", `{"a":{"command":"x","enabled":false},"b":{"command":"y","enabled":true}}`, `{"mcp_servers":{"b":{"command":"y"}}}`},
		{"for agents", `{"a":{"command":"x","codex":{"agents":["main"]}}}`, ""},
		{"agents no list", `{"a":{"command":"x","codex":{"agents":"main"}}}`, ""},
		{"all of it", `{"a":{"type":"stdio","command":"x","args":["1","<2>"],"env":{"K":"v"},"cwd":"/w","codex":{"defaultToolsApprovalMode":"prompt"}}}`,
			`{"mcp_servers":{"a":{"command":"x","args":["1","<2>"],"env":{"K":"v"},"cwd":"/w","default_tools_approval_mode":"prompt"}}}`},
		{"a variable as the token", `{"a":{"url":"u","headers":{"authorization":"bearer ${T}","X-Other":"Bearer ${T}","Y":"${T}x"}}}`,
			`{"mcp_servers":{"a":{"url":"u","bearer_token_env_var":"T","http_headers":{"X-Other":"Bearer ${T}","Y":"${T}x"}}}}`},
		{"authorization that is a variable", `{"a":{"url":"u","headers":{"Authorization":"${T}"}}}`,
			`{"mcp_servers":{"a":{"url":"u","env_http_headers":{"Authorization":"T"}}}}`},
		{"null", `null`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := MCPServersConfig(value(t, []byte(c.defs)))
			if err != nil {
				t.Fatal(err)
			}
			var want []byte
			if c.patch != "" {
				want = []byte(c.patch)
			}
			if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatchErrors(t *testing.T) {
	for _, c := range []struct{ defs, says string }{
		{`[]`, "an array"},
		{`{"a":1}`, `"a": it is a number`},
		{`{"a":{}}`, "a command or a url"},
		{`{"a":{"command":"x","url":"u"}}`, "not both"},
		{`{"a":{"command":["x"]}}`, "command: it is an array"},
		{`{"a":{"command":"x","args":"1"}}`, "args"},
		{`{"a":{"command":"x","args":["1",2]}}`, "element 1"},
		{`{"a":{"command":"x","env":{"K":1}}}`, "env: K"},
		{`{"a":{"command":"x","enabled":"no"}}`, "enabled"},
		{`{"a":{"command":"x","codex":[]}}`, "codex"},
		{`{"a":{"command":"x","disabled_tools":["rm"]}}`, "disabled_tools: it is not known"},
	} {
		t.Run(c.defs, func(t *testing.T) {
			patch, err := MCPServersConfig(value(t, []byte(c.defs)))
			if err == nil || !strings.Contains(err.Error(), c.says) || patch != nil {
				t.Errorf("the patch is %s, the error %v; want one that says %q", patch, err, c.says)
			}
		})
	}
}
