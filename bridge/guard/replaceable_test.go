package guard

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
)

// A call whose input another hook may replace is denied if the bridge needs to know what runs: before it
// asks about it, or if a comparison is not possible. So is one whose input the bridge replaces, too.
func TestReplaceableCallsAreDenied(t *testing.T) {
	for name, test := range map[string]struct {
		gated       bool
		tool, input string
		others      []string
		err         error
		refused     string
	}{
		"none":                {true, "Bash", `{"command":"ls"}`, nil, nil, ""},
		"a gated thread":      {true, "Bash", `{"command":"ls"}`, []string{"the hook x"}, nil, "the hook x may replace"},
		"not listed":          {true, "Bash", `{"command":"ls"}`, nil, errors.New("no list"), "no list"},
		"not gated":           {false, "Bash", `{"command":"ls"}`, []string{"the hook x"}, nil, ""},
		"a tool of a server":  {false, "read_mcp_resource", `{"server":"s"}`, []string{"the hook x"}, nil, "judges the input"},
		"a tool of an agent":  {false, "wait_agent", `{"targets":[]}`, []string{"the hook x"}, nil, "judges the input"},
		"a tool without rule": {false, "view_image", `{"path":"x"}`, []string{"the hook x"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, nil)
			w.g.threads.setVerified(map[string]*thread{"t": {Thread: policy.Thread{
				ID: "t", Workspace: w.root, Sandbox: "danger-full-access", Approval: json.RawMessage(`"on-request"`), Gated: test.gated,
			}}})
			w.g.SetOtherHooks(func(_ context.Context, thread, _, tool string) ([]string, error) {
				if thread != "t" || tool != test.tool {
					t.Errorf("hooks of %s in %s", tool, thread)
				}
				return test.others, test.err
			}, "")
			use := toolcall.Call{ID: "call", Name: test.tool, Input: value(t, test.input), Cwd: w.root, Model: "gpt-5.5"}
			r := w.g.Tool(t.Context(), "t", "u", use, []byte("{}"))
			if (r.Refusal == "") != (test.refused == "") || !strings.Contains(r.Refusal, test.refused) {
				t.Errorf("refusal %q", r.Refusal)
			}
			denied := w.g.RefuseReplacement(t.Context(), "t", "u", use, []byte("{}"))
			if exists := test.others != nil || test.err != nil; exists != (denied != "") {
				t.Errorf("replacing: %q", denied)
			}
		})
	}
}
