package policy_test

import (
	"strings"
	"testing"
)

// TestLinksAtProtectedPaths checks that a thread that may write does not open where a protected path, or a
// folder above it, is a link, and that the error names it.
func TestLinksAtProtectedPaths(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".github/workflows"}
	for name, test := range map[string]struct {
		links links
		want  string
	}{
		"no link":      {links{}, ""},
		"another link": {links{"/code/proj/.github/other": "/etc"}, ""},
		"above":        {links{"/code/proj/.github": "/code/proj/gh"}, `"/code/proj/.github" is a link to "/code/proj/gh", and Codex can't keep commands from replacing it`},
		"itself":       {links{"/code/proj/.github/workflows": "/srv/flows"}, `"/code/proj/.github/workflows" is a link to "/srv/flows"`},
	} {
		for _, sandbox := range []string{"workspace-write", "read-only"} {
			st := state()
			st.Paths = test.links
			d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"`+sandbox+`"}}`), st)
			switch refused := test.want != "" && sandbox == "workspace-write"; {
			case !refused && d.Err != nil, refused && (d.Err == nil || !strings.Contains(d.Err.Message, test.want)):
				t.Errorf("%s, %s: %v", name, sandbox, d.Err)
			}
		}
	}
}
