package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestUnenforceableFolders checks that no thread opens in a folder in which Codex would not enforce
// the bridge's profile, and that the error names the folder. Without such a profile the name is free.
func TestUnenforceableFolders(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".vscode"}
	for folder, want := range map[string]string{
		"/code/proj":      "",
		"/code/{a,b}^%":   "",
		"/code/a\u0001b":  "",
		"/code/[slug]/x":  `takes "[" for a pattern in the name of "/code/[slug]"`,
		"/code/a]":        `takes "]" for a pattern in the name of "/code/a]"`,
		"/code/what?":     `takes "?" for a pattern`,
		"/code/a*":        `takes "*" for a pattern`,
		"/code/tab\there": `drops the tab or line break in the name of "/code/tab\there"`,
		"/code/line\n":    "drops the tab or line break",
		"/code/return\r":  "drops the tab or line break",
	} {
		cwd, err := json.Marshal(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, protected := range [][]string{{".vscode"}, {".git"}} {
			cfg.ProtectedPaths = protected
			p := compile(t, cfg)
			d := p.Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":`+string(cwd)+`,"sandbox":"workspace-write"}}`), state())
			switch expected := want; {
			case protected[0] == ".git" || expected == "":
				if d.Err != nil || p.Unenforceable(state(), folder) != "" && protected[0] == ".git" {
					t.Errorf("%q with %q: %v", folder, protected, d.Err)
				}
			case d.Err == nil || !strings.Contains(d.Err.Message, expected) || !strings.Contains(p.Unenforceable(state(), folder), expected):
				t.Errorf("%q with %q: %v, want %q; doctor says %q", folder, protected, d.Err, expected, p.Unenforceable(state(), folder))
			}
		}
	}
	cfg.ProtectedPaths, cfg.WritableRoots = []string{".vs[c]ode"}, nil
	if got := compile(t, cfg).Unenforceable(state(), "/code/proj"); !strings.Contains(got, `".vs[c]ode"`) {
		t.Errorf("a protected path: %q", got)
	}
	cfg.Sandbox = "read-only"
	if got := compile(t, cfg).Unenforceable(state(), "/code/proj"); got != "" {
		t.Errorf("under a read-only policy: %q", got)
	}
	st := state()
	st.Secrets = []string{"/home/ada/s[1]/password"}
	d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"}}`), st)
	if got := compile(t, cfg).Unenforceable(st, "/code/proj"); d.Err == nil || !strings.Contains(got, `"/home/ada/s[1]"`) {
		t.Errorf("a secret of the bridge: %v; doctor says %q", d.Err, got)
	}
}
