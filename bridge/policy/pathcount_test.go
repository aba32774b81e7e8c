package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// countingPaths counts the paths that are resolved.
type countingPaths struct {
	policy.Paths
	n int
}

func (c *countingPaths) Canonical(path string) (string, error) {
	c.n++
	return c.Paths.Canonical(path)
}

// manyPaths returns a JSON array of folders below the workspace.
func manyPaths(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"/code/proj/d%d"`, i))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// No field of any method has the bridge resolve very many paths.
func TestPathsOfOneMessageAreBounded(t *testing.T) {
	p, list := compile(t, contract()), manyPaths(20_000)
	for row := range methods.Rows() {
		judged, _, ok := policy.Judged(row.Method)
		if row.Side != methods.ClientRequest || !ok {
			continue
		}
		for _, field := range judged {
			thread := `"threadId":"T",`
			if field == "threadId" {
				thread = ""
			}
			for _, value := range []string{
				list,
				`{"type":"workspaceWrite","writableRoots":` + list + `}`,
				`[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":` + list + `}]`,
				`[` + strings.Join(slices.Repeat([]string{`{"environmentId":"local","cwd":"/code/proj"}`}, 20_000), ",") + `]`,
			} {
				st, paths := state(), &countingPaths{Paths: disk}
				st.Paths = paths
				p.Decide(message(t, `{"id":1,"method":"`+row.Method+`","params":{`+thread+fmt.Sprintf("%q", field)+":"+value+`}}`), st)
				if paths.n > 1000 {
					t.Errorf("%s: %d paths are resolved for %s %.60s", row.Method, paths.n, field, value)
				}
			}
		}
	}
}

// A message with too many paths is refused before one of them is resolved.
func TestTooManyPaths(t *testing.T) {
	p := compile(t, contract())
	for _, test := range []struct {
		method, params string // %s: a list
		n              int
		refused        bool
	}{
		{"fuzzyFileSearch", `"query":"x","roots":%s`, 256, false},
		{"fuzzyFileSearch", `"query":"x","roots":%s`, 257, true},
		{"skills/list", `"cwds":%s`, 256, false},
		{"skills/list", `"cwds":%s`, 257, true},
		{"turn/start", `"input":[],"runtimeWorkspaceRoots":%s`, 256, false},
		{"turn/start", `"input":[],"runtimeWorkspaceRoots":%s`, 257, true},
		{"turn/start", `"input":[],"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":%s}]`, 255, false},
		{"turn/start", `"input":[],"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":%s}]`, 256, true},
		{"turn/start", `"input":[],"runtimeWorkspaceRoots":%[1]s,"sandboxPolicy":{"type":"workspaceWrite","writableRoots":%[1]s}`, 128, false},
		{"turn/start", `"input":[],"runtimeWorkspaceRoots":%[1]s,"sandboxPolicy":{"type":"workspaceWrite","writableRoots":%[1]s}`, 129, true},
		{"turn/start", `"input":[],"sandboxPolicy":{"type":"workspaceWrite","writableRoots":%s,"networkAccess":false}`, 256, false},
		{"turn/start", `"input":[],"sandboxPolicy":{"type":"workspaceWrite","writableRoots":%s,"networkAccess":false}`, 257, true},
	} {
		st, paths := state(), &countingPaths{Paths: disk}
		st.Paths = paths
		m := message(t, `{"id":1,"method":"`+test.method+`","params":{"threadId":"T",`+fmt.Sprintf(test.params, manyPaths(test.n))+`}}`)
		if test.method != "turn/start" {
			m = message(t, strings.Replace(string(m.Bytes()), `"threadId":"T",`, "", 1))
		}
		d := p.Decide(m, st)
		if refused := d.Err != nil && d.Err.Code == rpc.CodeTooLarge; refused != test.refused || refused && paths.n > 0 {
			t.Errorf("%s with %d: refused %v, %d paths are resolved: %v", test.method, test.n, refused, paths.n, d.Err)
		}
	}
}
