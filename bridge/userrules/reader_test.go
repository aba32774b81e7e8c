package userrules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/userrules"
)

// An error names the file and a fix, and makes every line Unsure.
func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"cut off":                {"prefix_rule(\n", "line 2: the file ends within a call"},
		"cut off in a text":      {"prefix_rule(pattern=[\"a\\u00", "the file ends within a call"},
		"cut off in a character": {"prefix_rule([\"a\xc3", "the file ends within a call"},
		"cut off in a line end":  {"prefix_rule([\r\n[\"a\"],\r", "line 2: the file ends within a call"},
		"cut off in an escape":   {"prefix_rule([\"a\\x4", "the file ends within a call"},
		"cut off in a name":      {"prefix_ru", "the file ends within a call"},
		"character at the end":   {"prefix_rule([\"a\"]) #\xc3", "it is not UTF-8"},
		"line end at the end":    {"prefix_rule([\"a\"])\r", "control character"},
		"escape at the end":      {`prefix_rule(["a\0"])`, "another escape"},
		"name at the end":        {"prefix_rule", "it ends with prefix_rule"},
		"unknown":                {"\nallow_all()\n", "line 2: allow_all: it is not prefix_rule"},
		"decision":               {"\nprefix_rule(pattern=[\"a\"], decision=\"yes\")", `line 2: prefix_rule: the decision "yes" is not allow, prompt or forbidden`},
		"no pattern":             {"prefix_rule()", "the pattern is missing"},
		"empty":                  {"prefix_rule(pattern=[])", "the pattern is no list of words"},
		"no list":                {`prefix_rule(pattern="a")`, "the pattern is no list of words"},
		"number":                 {`prefix_rule(pattern=["a", 1])`, "unexpected '1'"},
		"alternative":            {`prefix_rule(pattern=[["a", ["b"]]])`, "an alternative is a list"},
		"none":                   {`prefix_rule(pattern=[[]])`, "there are no alternatives"},
		"parameter":              {`prefix_rule(pattern=["a"], why="b")`, "it has the parameter why"},
		"twice":                  {`prefix_rule(["a"], pattern=["b"])`, "two values for pattern"},
		"too many":               {`host_executable("a", ["b"], "c")`, "more than 2 values"},
		"order":                  {`prefix_rule(pattern=["a"], "prompt")`, "a value without a name"},
		"deep":                   {`prefix_rule(["a"], match=[[[[[[[[["a"]]]]]]]]])`, "a list is too deep"},
		"function":               {"def f():\n  prefix_rule(pattern=[\"a\"])\nf()\n", "line 1: unexpected 'f'"},
		"loop":                   {"for x in [\"a\"]:\n  prefix_rule(pattern=[x])\n", "line 1: unexpected 'x'"},
		"computed":               {`prefix_rule(pattern=["a"], decision="allow" if len("é") == 1 else "prompt")`, "unexpected 'i'"},
		"joined":                 {`prefix_rule(pattern=["a" + "b"])`, "unexpected '+'"},
		"name":                   {"p = \"a\"\n", "unexpected '='"},
		"next line":              {"prefix_rule\n([\"a\"])\n", "unexpected '\\n'"},
		"two on a line":          {`prefix_rule(["a"]); prefix_rule(["b"])`, "unexpected ';'"},
		"raw":                    {`prefix_rule([r"a"])`, "unexpected 'r'"},
		"tuple":                  {`prefix_rule(("a",))`, "unexpected '('"},
		"three quotes":           {`prefix_rule(["""a"""])`, "three quotes"},
		"lines":                  {"prefix_rule([\"a\nb\"])", "does not end on its line"},
		"escape":                 {`prefix_rule(["\x61\x61\x61"])`, "another escape"},
		"surrogate":              {`prefix_rule(["\ud800"])`, "another escape"},
		"carriage return":        {"# a\rprefix_rule([\"a\"])", "a control character"},
		"no UTF-8":               {"prefix_rule([\"\xff\"])", "not UTF-8"},
		"mark":                   {"\ufeffprefix_rule([\"a\"])", `unexpected '\ufeff'`},
		"load":                   {`load("x", "y")`, "it is not prefix_rule"},
		"long":                   {strings.Repeat("#", 1<<20+1), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			set := read(t, map[string]string{"own.rules": tt.text})
			v := set.Judge("ls")
			if set.Err == nil || v.Outcome != userrules.Unsure || !strings.Contains(v.Reason, tt.want) || !strings.Contains(v.Reason, "own.rules") || !strings.Contains(v.Reason, "correct them") {
				t.Errorf("%+v: %v", v, set.Err)
			}
			if strings.Count(v.Reason, "own.rules") > 1 {
				t.Errorf("more than one place: %s", v.Reason)
			}
		})
	}
	set := read(t, map[string]string{"a.rules": "first()", "b.rules": "second()"})
	if set.Err == nil || !strings.Contains(set.Err.Error(), "first") {
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
	if set := r.Read(filepath.Join(write("file", "x"), "rules")); set.Err != nil {
		t.Errorf("a file is in place of a folder: %v", set.Err)
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
	// A rule that asks counts as long as Codex may have it.
	write("a.rules", `prefix_rule(pattern=["rm"], decision="prompt")`)
	for range 2 {
		if fate("rm") != userrules.Asks {
			t.Error("a rule that asks does not count")
		}
		if err := os.RemoveAll(filepath.Join(dir, "a.rules")); err != nil {
			t.Fatal(err)
		}
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

// Every rule that a version of the files had counts, in whatever order they came.
func TestRulesOfAllVersions(t *testing.T) {
	const first = "prefix_rule(pattern=[\"git\"])\nprefix_rule(pattern=[\"git\", \"push\"], decision=\"prompt\")\n"
	for name, versions := range map[string][]string{
		"the same rules": {first, first + "#"}, "a file that was cut off": {"prefix_rule(", first}, "added": {"prefix_rule(pattern=[\"git\"])\n", first}, "removed": {first, "prefix_rule(pattern=[\"git\"])\n"},
		"an empty file": {first, ""},
	} {
		if v := readVersions(t, versions...).Judge("git push"); v.Outcome != userrules.Asks {
			t.Errorf("%s: got %+v", name, v)
		}
	}
}

// A file that Codex may have read, and the bridge not, keeps every line from running when it is corrected.
func TestUnknownRulesStayUnknown(t *testing.T) {
	const fine = "prefix_rule(pattern=[\"git\"])\n"
	for name, versions := range map[string][]string{
		"computed":      {"for x in [\"ls\"]:\n  prefix_rule(pattern=[x])\n", fine},
		"after another": {fine, "p = [\"ls\"]\nprefix_rule(pattern=p)\n", fine + fine},
		"and cut off":   {"x()", "prefix_rule("},
		"too long":      {strings.Repeat("#", 1<<20+1), fine},
		"an escape":     {`prefix_rule(["a\0"])`, fine},
		"a name":        {"prefix_rule", fine},
	} {
		if set := readVersions(t, versions...); set.Err == nil || name != "and cut off" && !strings.Contains(set.Err.Error(), "start codex-bridge again") {
			t.Errorf("%s: %v", name, set.Err)
		}
	}
	if set := readVersions(t, "prefix_rule(pattern=[\"ls\"", fine); set.Err != nil {
		t.Errorf("a file that Codex can't read either: %v", set.Err)
	}
	if set := readVersions(t, "prefix_rule(pattern=[\"\xe2\x82", fine); set.Err != nil {
		t.Errorf("a file that is cut off within a character: %v", set.Err)
	}
	if set := readVersions(t, "prefix_rule(pattern=[\"ls\"], decision=\"yes\")", fine); set.Err != nil {
		t.Errorf("a decision that Codex does not have: %v", set.Err)
	}
}

// readVersions reads a file in each of its versions, and returns the last set.
func readVersions(t *testing.T, texts ...string) (set *userrules.Set) {
	t.Helper()
	dir := t.TempDir()
	var r userrules.Reader
	for i, text := range texts {
		path := filepath.Join(dir, "own.rules")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if at := time.Unix(int64(1e9+i), 0); os.Chtimes(path, at, at) != nil {
			t.Fatal("the time of the file can't be set")
		}
		set = r.Read(dir)
	}
	return set
}

// All forms of the grammar are read.
func TestForms(t *testing.T) {
	set := userrules.Parse("# a\n\r\nprefix_rule(\n  # b\n  pattern = ['a', [\"b\", \"c\\\"\\\\\\u00e9é\",],],\n decision=\"prompt\"\n,) # c\nprefix_rule([\"d\"], 'forbidden', [[\"d\"], \"d e\"], [], \"f\")\nhost_executable(name=\"g\", paths=[\"/g\"])\nnetwork_rule(host=\"h\", protocol=\"https\", decision=\"deny\")\n")
	if set.Err != nil || len(set.Rules) != 2 {
		t.Fatalf("%+v", set)
	}
	if r := set.Rules[0]; r.Decision != userrules.Prompt || r.Line != 3 || !slices.EqualFunc(r.Pattern, [][]string{{"a"}, {"b", "c\"\\éé"}}, slices.Equal) {
		t.Errorf("%+v", r)
	}
	if r := set.Rules[1]; r.Decision != userrules.Forbidden || r.Line != 8 || !slices.EqualFunc(r.Pattern, [][]string{{"d"}}, slices.Equal) {
		t.Errorf("%+v", r)
	}
}
