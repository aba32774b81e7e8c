package policy_test

import (
	"encoding/json"
	"testing"

	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rules"
)

// What a link made by a line leads to is seen from the folder of the link. A line that is not read completely
// may change each protected path that its text names, in any folder.
func TestLinesThatMoveTheTopOfTheWorkspace(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".github"}
	p := compile(t, cfg)
	for command, denied := range map[string]bool{
		"touch .github/x":                          false, // Codex mounts it read-only
		"env -C . touch x; cat .github/x":          false,
		"env -C deep touch .github/x":              true,
		"CDPATH=deep; cd .github && touch x":       true,
		"cd .github && touch x":                    false,
		"ln -s .github deep/y; echo > deep/y/x":    true,
		"find deep -execdir touch .github/x \\\\;": true,
		"cd deep; touch .github/x\\n(":             true,
		"touch deep/.git''hub/x\\n(":               true,
		"touch deep/x\\n(":                         false,
		"sed -i s/a/b/ deep/.github/x fine":        true,
		"sed -i s/.github/b/ fine":                 false,
	} {
		st := state()
		st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`), Profile: policy.Profile{Defined: true, Protected: [][]string{{".github"}}}}
		st.Escalation = rules.Sandboxed
		d := p.DecideTool(policy.ToolCall{Name: "Bash", Input: value(t, `{"command":"`+command+`"}`), Cwd: "/code/proj", Shell: "bash"}, st)
		if got := d.Verdict == policy.Deny; got != denied {
			t.Errorf("%s: %s %v", command, d.Verdict, d.Err)
		}
	}
}
