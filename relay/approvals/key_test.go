package approvals_test

import (
	"codex-bridge.example/relay/approvals"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeysDifferWhenAnyPartDoes(t *testing.T) {
	a := newRequest(t)
	input := func(text string) approvals.Request {
		return changed(a, func(a *approvals.Request) { a.Input = []byte(text) })
	}
	first := newKey(t, a)
	for _, tt := range []struct {
		name  string
		asked approvals.Request
		same  bool
	}{
		{"again", a, true},
		{"order of members, white space, escapes", input(` {"n":1, "env":{"LANG":"C","HOME":"\/h"},"command":["git","commit","-m","a\u0020b"]}`), true},
		{"order of argv", input(`{"command":["git","-m","commit","a b"],"env":{"HOME":"/h","LANG":"C"},"n":1}`), false},
		{"two words for one", input(`{"command":["git","commit","-m","a","b"],"env":{"HOME":"/h","LANG":"C"},"n":1}`), false},
		{"one text", input(`{"command":"git commit -m 'a b'","env":{"HOME":"/h","LANG":"C"},"n":1}`), false},
		{"one word more", input(`{"command":["git","commit","-m","a b",""],"env":{"HOME":"/h","LANG":"C"},"n":1}`), false},
		{"env", input(`{"command":["git","commit","-m","a b"],"env":{"HOME":"/h","LANG":"D"},"n":1}`), false},
		{"a member more", input(`{"command":["git","commit","-m","a b"],"env":{"HOME":"/h","LANG":"C"},"n":1,"x":null}`), false},
		{"a number as text", input(`{"command":["git","commit","-m","a b"],"env":{"HOME":"/h","LANG":"C"},"n":"1"}`), false},
		{"a number in another form", input(`{"command":["git","commit","-m","a b"],"env":{"HOME":"/h","LANG":"C"},"n":1.0}`), false},
		{"provider", changed(a, func(a *approvals.Request) { a.Provider = "other" }), false},
		{"session", changed(a, func(a *approvals.Request) { a.Session = "U" }), false},
		{"tool", changed(a, func(a *approvals.Request) { a.Tool = "bash" }), false},
		{"cwd", changed(a, func(a *approvals.Request) { a.Cwd = a.Workspace }), false},
		{"no cwd", changed(a, func(a *approvals.Request) { a.Cwd = "" }), false},
		{"cwd, spelt otherwise", changed(a, func(a *approvals.Request) { a.Cwd += string(filepath.Separator) }), false},
		{"workspace", changed(a, func(a *approvals.Request) { a.Workspace = a.Cwd }), false},
		{"shell", changed(a, func(a *approvals.Request) { a.Shell = "sh" }), false},
		{"sandbox", changed(a, func(a *approvals.Request) { a.Sandbox = "workspace-write" }), false},
		{"escalated", changed(a, func(a *approvals.Request) { a.Escalated = true }), false},
	} {
		if got := newKey(t, tt.asked).Digest() == first.Digest(); got != tt.same {
			t.Errorf("%s: same %v", tt.name, got)
		}
	}
}

// Integers that a float64 can't distinguish have different keys.
func TestKeysOfLargeNumbersDiffer(t *testing.T) {
	a := newRequest(t)
	n := newKey(t, changed(a, func(a *approvals.Request) { a.Input = []byte(`9007199254740992`) }))
	m := newKey(t, changed(a, func(a *approvals.Request) { a.Input = []byte(`9007199254740993`) }))
	if n.Digest() == m.Digest() {
		t.Error("two numbers have one key")
	}
}

func TestNewKeyRejectsInvalidRequests(t *testing.T) {
	a := newRequest(t)
	for name, change := range map[string]func(*approvals.Request){
		"no input":           func(a *approvals.Request) { a.Input = nil },
		"a name twice":       func(a *approvals.Request) { a.Input = []byte(`{"a":1,"\u0061":2}`) },
		"no UTF-8":           func(a *approvals.Request) { a.Input = []byte("\"\xff\"") },
		"half a pair":        func(a *approvals.Request) { a.Input = []byte(`"\ud800"`) },
		"two values":         func(a *approvals.Request) { a.Input = []byte(`1 2`) },
		"deep":               func(a *approvals.Request) { a.Input = []byte(strings.Repeat("[", 66) + strings.Repeat("]", 66)) },
		"many values":        func(a *approvals.Request) { a.Input = []byte("[0" + strings.Repeat(",0", 20_000) + "]") },
		"long":               func(a *approvals.Request) { a.Input = []byte(`"` + strings.Repeat("x", 4_000_000) + `"`) },
		"no tool":            func(a *approvals.Request) { a.Tool = "" },
		"no sandbox":         func(a *approvals.Request) { a.Sandbox = "" },
		"no session":         func(a *approvals.Request) { a.Session = "" },
		"no workspace":       func(a *approvals.Request) { a.Workspace = "" },
		"a tool of no UTF-8": func(a *approvals.Request) { a.Tool = "\xff" },
		"a relative cwd":     func(a *approvals.Request) { a.Cwd = "sub" },
		"a cwd that is gone": func(a *approvals.Request) { a.Cwd += "gone" },
	} {
		if _, err := approvals.NewKey(changed(a, change)); err == nil {
			t.Errorf("%s has a key", name)
		}
	}
}

// A link with another target is another folder with the same name.
func TestKeyChangesWithTheLinksTarget(t *testing.T) {
	a := newRequest(t)
	link := filepath.Join(a.Workspace, "link")
	point := func(to string) {
		t.Helper()
		_ = os.Remove(link)
		if err := os.MkdirAll(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	w := newFixture(t, "", approvals.Session)
	for name, change := range map[string]func(*approvals.Request){
		"cwd":       func(a *approvals.Request) { a.Cwd = link },
		"workspace": func(a *approvals.Request) { a.Workspace = link },
	} {
		here, there := filepath.Join(a.Workspace, "here"), filepath.Join(a.Workspace, "there")
		point(here)
		w.remember(t, newKey(t, changed(a, change)), approvals.Session)
		w.check(t, name, newKey(t, changed(a, change)), true)
		point(there)
		w.check(t, name+", moved", newKey(t, changed(a, change)), false)
		w.check(t, name+", what it was", newKey(t, changed(a, func(a *approvals.Request) { a.Cwd = here })), false)
	}
}
