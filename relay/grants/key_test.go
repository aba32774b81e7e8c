package grants_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/relay/grants"
)

// What is the same, and what is another request, by name.
func TestKey(t *testing.T) {
	a := asked(t)
	input := func(text string) grants.Asked { return with(a, func(a *grants.Asked) { a.Input = []byte(text) }) }
	first := key(t, a)
	for _, tt := range []struct {
		name  string
		asked grants.Asked
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
		{"provider", with(a, func(a *grants.Asked) { a.Provider = "other" }), false},
		{"session", with(a, func(a *grants.Asked) { a.Session = "U" }), false},
		{"tool", with(a, func(a *grants.Asked) { a.Tool = "bash" }), false},
		{"cwd", with(a, func(a *grants.Asked) { a.Cwd = a.Workspace }), false},
		{"no cwd", with(a, func(a *grants.Asked) { a.Cwd = "" }), false},
		{"cwd, spelt otherwise", with(a, func(a *grants.Asked) { a.Cwd += string(filepath.Separator) }), false},
		{"workspace", with(a, func(a *grants.Asked) { a.Workspace = a.Cwd }), false},
		{"shell", with(a, func(a *grants.Asked) { a.Shell = "sh" }), false},
		{"sandbox", with(a, func(a *grants.Asked) { a.Sandbox = "workspace-write" }), false},
		{"escalated", with(a, func(a *grants.Asked) { a.Escalated = true }), false},
	} {
		if got := key(t, tt.asked).Digest() == first.Digest(); got != tt.same {
			t.Errorf("%s: same %v", tt.name, got)
		}
	}
}

// Integers beyond those of a float64 are not one.
func TestKeyBigNumbers(t *testing.T) {
	a := asked(t)
	n := key(t, with(a, func(a *grants.Asked) { a.Input = []byte(`9007199254740992`) }))
	m := key(t, with(a, func(a *grants.Asked) { a.Input = []byte(`9007199254740993`) }))
	if n.Digest() == m.Digest() {
		t.Error("two numbers have one key")
	}
}

func TestKeyRefuses(t *testing.T) {
	a := asked(t)
	for name, change := range map[string]func(*grants.Asked){
		"no input":           func(a *grants.Asked) { a.Input = nil },
		"a name twice":       func(a *grants.Asked) { a.Input = []byte(`{"a":1,"\u0061":2}`) },
		"no UTF-8":           func(a *grants.Asked) { a.Input = []byte("\"\xff\"") },
		"half a pair":        func(a *grants.Asked) { a.Input = []byte(`"\ud800"`) },
		"two values":         func(a *grants.Asked) { a.Input = []byte(`1 2`) },
		"deep":               func(a *grants.Asked) { a.Input = []byte(strings.Repeat("[", 66) + strings.Repeat("]", 66)) },
		"many values":        func(a *grants.Asked) { a.Input = []byte("[0" + strings.Repeat(",0", 20_000) + "]") },
		"long":               func(a *grants.Asked) { a.Input = []byte(`"` + strings.Repeat("x", 4_000_000) + `"`) },
		"no tool":            func(a *grants.Asked) { a.Tool = "" },
		"no sandbox":         func(a *grants.Asked) { a.Sandbox = "" },
		"no session":         func(a *grants.Asked) { a.Session = "" },
		"no workspace":       func(a *grants.Asked) { a.Workspace = "" },
		"a tool of no UTF-8": func(a *grants.Asked) { a.Tool = "\xff" },
		"a relative cwd":     func(a *grants.Asked) { a.Cwd = "sub" },
		"a cwd that is gone": func(a *grants.Asked) { a.Cwd += "gone" },
	} {
		if _, err := grants.NewKey(with(a, change)); err == nil {
			t.Errorf("%s has a key", name)
		}
	}
}

// A link that leads elsewhere later is another folder under the same name.
func TestKeyOfLink(t *testing.T) {
	a := asked(t)
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
	w := newWorld(t, "", grants.Session)
	for name, change := range map[string]func(*grants.Asked){
		"cwd":       func(a *grants.Asked) { a.Cwd = link },
		"workspace": func(a *grants.Asked) { a.Workspace = link },
	} {
		here, there := filepath.Join(a.Workspace, "here"), filepath.Join(a.Workspace, "there")
		point(here)
		w.remember(t, key(t, with(a, change)), grants.Session)
		w.check(t, name, key(t, with(a, change)), true)
		point(there)
		w.check(t, name+", moved", key(t, with(a, change)), false)
		w.check(t, name+", what it was", key(t, with(a, func(a *grants.Asked) { a.Cwd = here })), false)
	}
}
