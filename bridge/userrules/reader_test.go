package userrules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/userrules"
)

// An error names the file and a fix, and makes every line Unsure.
func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"syntax":      {"prefix_rule(\n", "got end of file"},
		"unknown":     {"\nallow_all()\n", "own.rules:2:1: undefined: allow_all"},
		"decision":    {"\nprefix_rule(pattern=[\"a\"], decision=\"yes\")", `own.rules:2:12: prefix_rule: the decision "yes" is not allow, prompt or forbidden`},
		"called":      {"def f():\n  prefix_rule(pattern=[])\nf()\n", "own.rules:2:14: prefix_rule: the pattern is empty"},
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
			if set.Err == nil || v.Outcome != userrules.Unsure || !strings.Contains(v.Reason, tt.want) || !strings.Contains(v.Reason, "own.rules") || !strings.Contains(v.Reason, "correct them") {
				t.Errorf("%+v: %v", v, set.Err)
			}
			if strings.Count(v.Reason, "own.rules:") > 1 {
				t.Errorf("more than one place: %s", v.Reason)
			}
		})
	}
	set := read(t, map[string]string{"a.rules": "first()", "b.rules": "second()"})
	if set.Err == nil || !strings.Contains(set.Err.Error(), "undefined: first") {
		t.Errorf("of two faults not the first: %v", set.Err)
	}
}

// Calls for folders without a change do not wait for each other.
func TestReadAtOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own.rules"), []byte(`prefix_rule(pattern=["ls"], decision="allow")`), 0o600); err != nil {
		t.Fatal(err)
	}
	var r userrules.Reader
	if got := r.Read(dir); len(got.Rules) != 1 {
		t.Fatalf("%+v", got)
	}
	defer r.HoldRead()()
	if got := r.Read(dir, filepath.Join(dir, "missing")); len(got.Rules) != 1 || got.Err != nil {
		t.Errorf("%+v", got)
	}
}

// Files are read in the order of their names, and again after a change.
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
	fate := func(line string) userrules.Outcome {
		return r.Read(filepath.Join(dir, "none"), dir).Judge(line).Outcome
	}
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
	write("b.rules", `prefix_rule(pattern=["rm"])`) // same length
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if fate("ls") != userrules.Leaves || fate("rm") != userrules.Leaves {
		t.Error("of a file that has changed only one version counts")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if fate("rm") != userrules.Leaves {
		t.Error("a file that Codex has read counts no more")
	}
	// A rule that asks has an effect only if Codex certainly has it.
	write("a.rules", `prefix_rule(pattern=["rm"], decision="prompt")`)
	if fate("rm") != userrules.Leaves {
		t.Error("a rule counts that Codex may not have read")
	}
	if err := os.Remove(filepath.Join(dir, "a.rules")); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Symlink(filepath.Join(dir, "nothing"), filepath.Join(dir, "link.rules")); err != nil {
		t.Fatal(err)
	}
	if fate("pwd") != userrules.Stays {
		t.Error("a link to nothing is a fault")
	}
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "device.rules")); err != nil {
		t.Fatal(err)
	}
	if v := r.Read(dir).Judge("ls"); v.Outcome != userrules.Unsure || !strings.Contains(v.Reason, "not a regular file") {
		t.Errorf("%+v", v)
	}
}

// A file with the same path, size and time is not read again, so decisions are fast. Another size
// or time means another file.
func TestReaderReadsAFileOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "own.rules")
	at := time.Now().Add(-time.Hour)
	write := func(word string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(`prefix_rule(pattern=["`+word+`"])`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	var r userrules.Reader
	lets := func() string { return r.Read(dir).Allowing()[0].String() }
	write("ls", at)
	first := lets()
	write("rm", at) // same length and time
	if got := lets(); got != first {
		t.Errorf("a file that is the same was read again: %s, before %s", got, first)
	}
	write("cat", at)
	if got := lets(); !strings.Contains(got, `"cat"`) {
		t.Errorf("a file of another size was not read again: %s", got)
	}
	write("pwd", at.Add(time.Second))
	if got := lets(); !strings.Contains(got, `"pwd"`) {
		t.Errorf("a file of another time was not read again: %s", got)
	}
}

// The number of files in a folder, and their size, is limited.
func TestLimits(t *testing.T) {
	files := make(map[string]string)
	for n := range 256 {
		files[fmt.Sprintf("%d.rules", n)] = ""
	}
	if fault := read(t, files).Err; fault != nil {
		t.Errorf("256 files: %v", fault)
	}
	files["more.rules"] = ""
	if fault := read(t, files).Err; fault == nil || !strings.Contains(fault.Error(), "more than 256 files") {
		t.Errorf("257 files: %v", fault)
	}
	const rule = `prefix_rule(pattern=["ls"])`
	set := read(t, map[string]string{"own.rules": strings.Repeat("#", 1<<20-len(rule)-1) + "\n" + rule})
	if set.Err != nil || len(set.Allowing()) != 1 {
		t.Errorf("a file of 1 MiB: %v, %d rules", set.Err, len(set.Allowing()))
	}
}

// FuzzJudge checks that every line has a verdict for any files, with a reason unless it is Stays.
func FuzzJudge(f *testing.F) {
	f.Add(own, "git status; ls")
	f.Add(`prefix_rule(pattern=["bash"])`, "(ls)")
	f.Add("for x in [\"a\"]:\n  prefix_rule(pattern=[x])\n", "a <<X\nX")
	f.Fuzz(func(t *testing.T, text, line string) {
		if v := userrules.Parse(text).Judge(line); (v.Reason == "") != (v.Outcome == userrules.Stays) {
			t.Errorf("%q: %+v", line, v)
		}
	})
}

// A rule that asks is kept if both versions of a file have it, or if the first could not be read.
func TestRulesOfBothVersions(t *testing.T) {
	const first = "prefix_rule(pattern=[\"git\"])\nprefix_rule(pattern=[\"git\", \"push\"], decision=\"prompt\")\n"
	for name, before := range map[string]string{"the same rules": first, "a fault": "prefix_rule(", "no rule that asks": "prefix_rule(pattern=[\"git\"])\n"} {
		dir := t.TempDir()
		var r userrules.Reader
		for _, text := range []string{before, first + "prefix_rule(pattern=[\"cat\"])\n"} {
			if err := os.WriteFile(filepath.Join(dir, "own.rules"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			r.Read(dir)
		}
		want := userrules.Stays
		if name == "no rule that asks" {
			want = userrules.Leaves
		}
		if v := r.Read(dir).Judge("git push"); v.Outcome != want {
			t.Errorf("%s: got %+v, want %d", name, v, want)
		}
	}
}
