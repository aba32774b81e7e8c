package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/releasediff"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	versions, err := parseVersions([]byte(`["0.9.0", "0.10.0-alpha.1", "0.11.0", "0.10.0", "0.12.0-win32-x64", "0.10.2"]`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0.9.0", "0.10.0", "0.10.2", "0.11.0"}, versions); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		from, wanted, to string
		skipped          []string
		fails            bool
	}{
		{from: "0.9.0", to: "0.11.0", skipped: []string{"0.10.0", "0.10.2"}},
		{from: "0.9.0", wanted: "0.10.2", to: "0.10.2", skipped: []string{"0.10.0"}},
		{from: "0.10.1", to: "0.11.0", skipped: []string{"0.10.2"}},
		{from: "0.11.0"},
		{from: "0.12.0"},
		{from: "0.11.0", wanted: "0.11.0", fails: true},
		{from: "0.9.0", wanted: "0.10.1", fails: true},
		{from: "0.9.0", wanted: "0.10.0-alpha.1", fails: true},
	} {
		to, skipped, err := choose(versions, c.from, c.wanted)
		if to != c.to || (err != nil) != c.fails || strings.Join(skipped, " ") != strings.Join(c.skipped, " ") {
			t.Errorf("from %s, wanted %q: %q, skipped %q, %v", c.from, c.wanted, to, skipped, err)
		}
	}
}

// The page of the repository can be read, and written without a change.
func TestPageIsTheStore(t *testing.T) {
	t.Parallel()
	text := readFile(t, pageFile)
	head, rows, err := parsePage(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := head + table(rows); got != text {
		t.Error(cmp.Diff(text, got))
	}
	for _, bad := range []string{"no table", tableHead + "0.1.0\n", tableHead + "next | all 1 | all 1 | all 1\n"} {
		if _, _, err := parsePage(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// A new row is in order, replaces an older one of its release, and leaves the others.
func TestRecord(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, pageFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	const old = "# Head\n\n" + tableHead + "0.10.0, 0.9.0 | all 7 | all 7 | all 12\n0.8.0 | all 7 | all 7 | refused: 0.9.0 or later is needed\n"
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ version, cells, want string }{
		{"0.11.0", "all 7 | all 7 | 11 of 12; not: fork", "0.11.0 | all 7 | all 7 | 11 of 12; not: fork\n0.10.0, 0.9.0 | all 7 | all 7 | all 12\n"},
		{"0.9.1", "all 7 | all 7 | all 12", "0.11.0 | all 7 | all 7 | 11 of 12; not: fork\n0.10.0, 0.9.1, 0.9.0 | all 7 | all 7 | all 12\n"},
		{"0.11.0", "all 7 | all 7 | all 12", "0.11.0, 0.10.0, 0.9.1, 0.9.0 | all 7 | all 7 | all 12\n"},
	} {
		if err := record(root, row{c.version, c.cells}); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := "# Head\n\n" + tableHead + c.want + "0.8.0 | all 7 | all 7 | refused: 0.9.0 or later is needed\n"
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Error(diff)
		}
	}
}

// The files of the repository have the pinned release where a move looks for it.
func TestFilesHaveTheRelease(t *testing.T) {
	t.Parallel()
	for _, name := range rangeFiles {
		if want := supportedRange(methods.Measured); !strings.Contains(readFile(t, name), want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
	for _, want := range []string{"@openai/codex@" + methods.Measured, `max_version = "` + methods.Measured + `"`} {
		if !strings.Contains(readFile(t, versionFile), want) {
			t.Errorf("%s lacks %q", versionFile, want)
		}
	}
	manifest := readFile(t, npmFolder+"/package.json")
	same, err := pinned(manifest, methods.Measured)
	if err != nil || same != manifest {
		t.Errorf("package.json: %v\n%s", err, cmp.Diff(manifest, same))
	}
	if next, err := pinned(manifest, "9.9.9"); err != nil || strings.Count(next, `"@openai/codex": "9.9.9"`) != 1 || len(next) > len(manifest) {
		t.Errorf("package.json: %v\n%s", err, next)
	}
	lock := readFile(t, npmFolder+"/package-lock.json")
	if err := checkLock(lock, methods.Measured); err != nil {
		t.Error(err)
	}
	if checkLock(lock, "9.9.9") == nil {
		t.Error("a lock file with another release is accepted")
	}
	if checkLock(`{"packages": {"a": {"resolved": "x"}, "node_modules/@openai/codex": {"version": "1.2.3"}}}`, "1.2.3") == nil {
		t.Error("a lock file with an address is accepted")
	}
}

// The names of a release are added at the end, in the form of the file.
func TestWithNames(t *testing.T) {
	t.Parallel()
	r, err := release.Tested()
	if err != nil {
		t.Fatal(err)
	}
	text := readFile(t, namesFile)
	if same, err := withNames(text, r); err != nil || same != text {
		t.Errorf("the tested release is added twice: %v", err)
	}
	r.Version = "9.9.9"
	next, err := withNames(text, r)
	if err != nil {
		t.Fatal(err)
	}
	before, added, _ := strings.Cut(next, ",\n\"9.9.9\": ")
	if before != strings.TrimSuffix(strings.TrimSpace(text), "\n}") {
		t.Error("the names of other releases have changed")
	}
	_, tested, _ := strings.Cut(text, "\""+methods.Measured+"\": ")
	if added != tested {
		t.Error(cmp.Diff(tested, added))
	}
	if !json.Valid([]byte(next)) {
		t.Error("no JSON")
	}
}

// The summary has what a person judges: rows of the tables, and names without a row.
func TestSummary(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	folder := filepath.Join(root, "bridge", "methods")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"methods.txt":  "codex 0.2.0\n# TODO in a comment | a | b\nclient request | a/new | read | deny | | 0.2.0 | | TODO: judge, like a/old: pass\nclient request | a/old | read | pass | | | | reads\n",
		"fields.txt":   "a/old | x | unjudged | 0.2.0 |\na/old | y | any | |\n",
		"features.txt": "f | stable | true | user | 0.2.0 | | TODO: judge\n",
		"commands.txt": "zz | door | | TODO: judge\n",
		"flags.txt":    "--new | codex | none | | | 0.2.0 | | |\n--old | codex | none | | | | | |\n--ruled | codex | none | any | | 0.2.0 | | |\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tested, err := release.Tested()
	if err != nil {
		t.Fatal(err)
	}
	other, err := release.Tested()
	if err != nil {
		t.Fatal(err)
	}
	other.Version, other.DefaultModel, other.ConfigKeys = "0.2.0", "m-2", append([]string{"aa.new`key"}, other.ConfigKeys[1:]...)
	other.Unread = map[release.Part]string{release.PartTools: "no tools"}
	changes, err := releasediff.Compare(tested, other)
	if err != nil {
		t.Fatal(err)
	}
	m := &move{root: root, from: "0.1.0", to: "0.2.0", skipped: []string{"0.1.1"}, names: other, changes: changes}
	m.rows = []row{{"0.1.1", "all 7 | all 7 | all 12"}, {"0.2.0", "all 7 | 6 of 7; not: fork | all 12"}}
	if err := m.step("works", func() error { return nil }); err != nil {
		t.Error(err)
	}
	if m.step("breaks", func() error { return os.ErrInvalid }) == nil || m.failure() == nil {
		t.Error("the error of a step is lost")
	}
	got, err := m.summary()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"moved from Codex 0.1.0 to 0.2.0", "Skipped, but for the conversations: 0.1.1.", "1 changed default model", "The tools are not compared: `no tools`",
		"- [ ] `client request | a/new | read | deny |  | 0.2.0 |  | TODO: judge, like a/old: pass`\n",
		"- [ ] `a/old | x | unjudged | 0.2.0 | `\n", "- [ ] `f | stable", "- [ ] `zz | door", "- [ ] `--new |",
		"- [ ] `new config key aa.new'key", "- [ ] `changed default model: m-2, was " + tested.DefaultModel + "`\n",
		"0.2.0 | all 7 | 6 of 7; not: fork | all 12\n0.1.1 | all 7", "works | 0s\nbreaks | 0s, failed\n", "the step \"breaks\" failed",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q", want)
		}
	}
	if got := strings.Count(got, "- [ ]"); got != 7 {
		t.Errorf("%d things to judge, want 7", got)
	}
	if t.Failed() {
		t.Log(got)
	}
}

// Codex says how many values a flag takes.
func TestWithValues(t *testing.T) {
	t.Parallel()
	const text = "# flag | commands | values\n--old | exec | one | | | 0.1.0 | | |\n--a | codex, exec | one | | | 0.2.0 | | |\n" +
		"--b, -b | * | one | | | 0.2.0 | | |\n--c | exec | one | | | 0.2.0 | | |\n--d | exec | none | | | 0.2.0 | | |\n"
	const want = "# flag | commands | values\n--old | exec | one | | | 0.1.0 | | |\n--a | codex, exec | three | | | 0.2.0 | | |\n" +
		"--b, -b | * | many | | | 0.2.0 | | |\n--c | exec | one | | | 0.2.0 | | |\n--d | exec | none | | | 0.2.0 | | |\n"
	var asked []string
	got := withValues(text, "0.2.0", func(command, flag string) string {
		asked = append(asked, command+" "+flag)
		return missingValues(map[string]string{
			"--a": "error: a value is required for '--a <X> <Y> <Z>' but none was supplied",
			"--b": "error: a value is required for '--b <FILE>...' but none was supplied", "--c": "error: other",
		}[flag], flag)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"codex --a", "* --b", "exec --c"}, asked); diff != "" {
		t.Error(diff)
	}
}
