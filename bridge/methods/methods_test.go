package methods_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/reference/methods.md")

// measured returns the schema of the Codex that the rows are for.
func measured(t *testing.T) *release.Release {
	t.Helper()
	var p release.Release
	read(t, "schema.json", &p)
	if p.Version != methods.Measured {
		t.Fatalf("the file is of version %s", p.Version)
	}
	return &p
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// Every method has a row, and every row a method.
func TestRowsAreComplete(t *testing.T) {
	p := measured(t)
	total := 0
	for _, side := range methods.Sides() {
		names := p.Names(side)
		total += len(names)
		if diff := cmp.Diff(names, namesIn(side, methods.Measured)); diff != "" {
			t.Errorf("%ss: codex's schema (-) and the rows (+):\n%s", side, diff)
		}
		unknown, gone := methods.Diff(side, append(slices.Clone(names[1:]), "x/new"))
		if diff := cmp.Diff([][]string{{"x/new"}, {names[0]}}, [][]string{unknown, gone}); diff != "" {
			t.Errorf("Diff of %ss:\n%s", side, diff)
		}
	}
	if total < 250 {
		t.Errorf("only %d names", total)
	}
}

// namesIn returns the methods that a release of Codex has on a side, by since and until of the rows.
func namesIn(side methods.Side, release string) (names []string) {
	for row := range methods.Rows() {
		if row.Side == side && row.IsIn(release) {
			names = append(names, row.Method)
		}
	}
	return names
}

// All fields of rows are valid, and Fields are members of the schema.
func TestRowsAreValid(t *testing.T) {
	p := measured(t)
	var last methods.Row
	for i, row := range slices.Collect(methods.Rows()) {
		name := row.Side.String() + " " + row.Method
		if i > 0 && (row.Side < last.Side || row.Side == last.Side && row.Method <= last.Method) {
			t.Errorf("%s: twice, or out of order after %s", name, last.Method)
		}
		last = row
		if !slices.Contains(methods.Classes(), row.Class) {
			t.Errorf("%s: class %q", name, row.Class)
		}
		if !slices.Contains([]methods.Verdict{methods.Pass, methods.Rewrite, methods.Gate, methods.Deny}, row.Verdict) {
			t.Errorf("%s: verdict %q", name, row.Verdict)
		}
		if !row.Side.IsFromClient() && row.Verdict != methods.Pass && row.Side != methods.ServerRequest {
			t.Errorf("%s: a notification of codex is %s", name, row.Verdict)
		}
		if r := []rune(row.Why); len(r) == 0 || len(r) > 120 || unicode.IsUpper(r[0]) || strings.Contains(row.Why, "TODO") {
			t.Errorf("%s: why %q: a short line that begins small", name, row.Why)
		}
		if strings.ContainsAny(row.Why, "\n|`") {
			t.Errorf("%s: why %q breaks the table", name, row.Why)
		}
		judged := row.Verdict == methods.Rewrite || row.Verdict == methods.Gate
		if judged && len(row.Fields) == 0 || row.Verdict == methods.Deny && len(row.Fields) > 0 {
			t.Errorf("%s: %s, by the fields %q", name, row.Verdict, row.Fields)
		}
		if row.Verdict == methods.Gate && !slices.Contains(row.Fields, "threadId") {
			t.Errorf("%s: a gate without threadId", name)
		}
		shape := p.Methods[row.Side][row.Method]
		members := shape.Params
		if row.Side == methods.ServerRequest {
			members = shape.Answer
		}
		for _, field := range row.Params {
			if field.Rule == methods.Unjudged {
				t.Errorf("%s: a person has to judge %s", name, field.Name)
			}
		}
		for _, field := range row.Fields {
			if row.Until == "" && !slices.Contains(members, field) {
				t.Errorf("%s: codex has no member %q, only %q", name, field, members)
			}
		}
		if !slices.IsSorted(row.Fields) {
			t.Errorf("%s: fields out of order: %q", name, row.Fields)
		}
	}
}

// All rows of features are valid, and sorted by name.
func TestFeaturesAreValid(t *testing.T) {
	features, err := methods.Features()
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, f := range features {
		if f.Name <= last {
			t.Errorf("%s: twice, or out of order after %s", f.Name, last)
		}
		last = f.Name
		if !slices.Contains([]string{"pinned", "judged", "user", "none"}, f.Control) || f.Default != "true" && f.Default != "false" {
			t.Errorf("invalid row: %s", f)
		}
		if f.Why == "" || strings.Contains(f.Why, "TODO") {
			t.Errorf("%s: not judged: %q", f.Name, f.Why)
		}
		if !strings.Contains(methods.FeatureTable, "\n"+f.String()+"\n") {
			t.Errorf("String returns %q", f)
		}
	}
	if len(features) < 200 {
		t.Errorf("only %d features", len(features))
	}
}

func TestLookup(t *testing.T) {
	for want := range methods.Rows() {
		got, ok := methods.Lookup(want.Side, want.Method)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("Lookup(%s, %s): %t\n%s", want.Side, want.Method, ok, diff)
		}
	}
	for _, c := range []struct {
		side   methods.Side
		method string
	}{
		{methods.ClientRequest, ""},
		{methods.ClientRequest, "Turn/start"},
		{methods.ClientRequest, "turn/start "},
		{methods.ClientRequest, "turn/started"},
		{methods.ClientNotification, "turn/start"},
		{methods.ServerRequest, "turn/started"},
		{methods.Side(4), "turn/start"},
		{methods.Side(255), "turn/start"},
	} {
		if row, ok := methods.Lookup(c.side, c.method); ok {
			t.Errorf("Lookup(%d, %q) = %v", c.side, c.method, row)
		}
	}
	if n := testing.AllocsPerRun(100, func() { methods.Lookup(methods.ClientRequest, "turn/start") }); n != 0 {
		t.Errorf("Lookup allocates %v times", n)
	}
}

// Methods of older versions only are unknown on purpose: a new row for one changes this list.
func TestOlderVersions(t *testing.T) {
	var versions map[string]map[string][]string
	read(t, "../../testdata/schema/methods-by-version.json", &versions)
	sides := map[string]methods.Side{
		"ClientRequest":      methods.ClientRequest,
		"ServerRequest":      methods.ServerRequest,
		"ServerNotification": methods.ServerNotification,
	}
	unknown := make(map[string][]string)
	for version, lists := range versions {
		if len(lists) != len(sides) {
			t.Errorf("%s has %d sides", version, len(lists))
		}
		for name, side := range sides {
			lost, _ := methods.Diff(side, lists[name])
			for _, method := range lost {
				key := side.String() + " " + method
				unknown[key] = append(unknown[key], version)
				slices.Sort(unknown[key])
			}
		}
	}
	want := map[string][]string{
		"client request device/key/create": {"0.125.0"},
		"client request device/key/public": {"0.125.0"},
		"client request device/key/sign":   {"0.125.0"},
		"client request thread/rollback":   {"0.125.0", "0.145.0", "0.153.4"},
	}
	if diff := cmp.Diff(want, unknown); diff != "" {
		t.Error(diff)
	}
	for version, lists := range versions {
		if codex.CompareVersions(version, config.Default().Codex.MinVersion) < 0 {
			continue
		}
		for name, side := range sides {
			if diff := cmp.Diff(slices.Sorted(slices.Values(lists[name])), namesIn(side, version)); diff != "" {
				t.Errorf("%s of %s, and since and until of the rows:\n%s", name, version, diff)
			}
		}
	}
	if versions[methods.Measured] == nil {
		t.Errorf("methods-by-version.json lacks %s", methods.Measured)
	}
}

// docs/methods.md shows the current verdicts.
func TestMarkdownIsCurrent(t *testing.T) {
	const file = "../../docs/reference/methods.md"
	got := methods.Markdown()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run make schema\n%s", diff)
	}
	for row := range methods.Rows() {
		name := "`" + row.Method + "`"
		want := []string{"\n" + name + " | ", "\n" + name + ", ", ", " + name + " | ", ", " + name + ", "}
		switch {
		case row.Verdict == methods.Deny:
			want = []string{"\n- " + name + ": " + row.Why + "\n"}
		case row.Verdict == methods.Pass && row.Side != methods.ServerRequest:
			want = []string{"\n- " + string(row.Class) + ": " + name, ", " + name}
		}
		if !slices.ContainsFunc(want, func(w string) bool { return bytes.Contains(got, []byte(w)) }) {
			t.Errorf("%s is not on the page", row.Method)
		}
	}
}
