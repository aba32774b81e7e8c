package userrules_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"codex-bridge/bridge/userrules"
)

// What can't be read is told with its place and its mend, and lets nothing run.
func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"syntax":      {"prefix_rule(\n", "got end of file"},
		"unknown":     {"\nallow_all()\n", "own.rules:2:1: undefined: allow_all"},
		"decision":    {`prefix_rule(pattern=["a"], decision="yes")`, `"yes" is not allow, prompt or forbidden`},
		"no pattern":  {"prefix_rule()", "missing argument for pattern"},
		"empty":       {"prefix_rule(pattern=[])", "the pattern is empty"},
		"no list":     {`prefix_rule(pattern=1)`, "the pattern is a int"},
		"number":      {`prefix_rule(pattern=["a", 1])`, "the pattern has a int"},
		"alternative": {`prefix_rule(pattern=[["a", 1]])`, "the alternatives have a int"},
		"none":        {`prefix_rule(pattern=[[]])`, "there are no alternatives"},
		"endless":     {"def f():\n  for i in range(1000000000):\n    pass\nf()\n", "too many steps"},
		"recursion":   {"def f():\n  f()\nf()\n", "called recursively"},
		"load":        {`load("x", "y")`, "load not implemented"},
		"long":        {strings.Repeat("#", 1<<20+1), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			set := read(t, map[string]string{"own.rules": tt.text})
			v := set.Judge("ls")
			if set.Fault == nil || v.Fate != userrules.Unsure || !strings.Contains(v.Reason, tt.want) || !strings.Contains(v.Reason, "own.rules") || !strings.Contains(v.Reason, "put them right") {
				t.Errorf("%+v: %v", v, set.Fault)
			}
		})
	}
}

// Files are read in the order of their names, and again when one has changed.
func TestReader(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var r userrules.Reader
	fate := func(line string) userrules.Fate { return r.Read(filepath.Join(dir, "none"), dir).Judge(line).Fate }
	if fate("ls") != userrules.Stays {
		t.Error("there are no rules")
	}
	path := write("b.rules", `prefix_rule(pattern=["ls"])`)
	write("a.txt", `prefix_rule(pattern=["cat"])`)
	if err := os.Mkdir(filepath.Join(dir, "c.rules"), 0o700); err != nil {
		t.Fatal(err)
	}
	if fate("ls") != userrules.Leaves || fate("cat") != userrules.Stays {
		t.Error("what counts are files *.rules")
	}
	write("b.rules", `prefix_rule(pattern=["rm"])`) // as long
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if fate("ls") != userrules.Stays || fate("rm") != userrules.Leaves {
		t.Error("a file that has changed is not read again")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if fate("rm") != userrules.Stays {
		t.Error("a file that is gone counts")
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Symlink(filepath.Join(dir, "nothing"), filepath.Join(dir, "link.rules")); err != nil {
		t.Fatal(err)
	}
	if fate("ls") != userrules.Stays {
		t.Error("a link to nothing is a fault")
	}
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "device.rules")); err != nil {
		t.Fatal(err)
	}
	if v := r.Read(dir).Judge("ls"); v.Fate != userrules.Unsure || !strings.Contains(v.Reason, "no regular file") {
		t.Errorf("%+v", v)
	}
}

// FuzzJudge: whatever stands in the files, and whatever is run, there is a verdict; what is
// not said to stay has a reason.
func FuzzJudge(f *testing.F) {
	f.Add(own, "git status; ls")
	f.Add(`prefix_rule(pattern=["bash"])`, "(ls)")
	f.Add("for x in [\"a\"]:\n  prefix_rule(pattern=[x])\n", "a <<X\nX")
	f.Fuzz(func(t *testing.T, text, line string) {
		if v := userrules.Parse(text).Judge(line); (v.Reason == "") != (v.Fate == userrules.Stays) {
			t.Errorf("%q: %+v", line, v)
		}
	})
}
