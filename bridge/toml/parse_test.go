package toml_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/toml"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	library "github.com/pelletier/go-toml/v2"
)

func TestPlacesOfKeys(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		want      map[string]string
	}{
		{"plain", "a = 1\nb=2\n\n  c\t=\t3 # d = 4\n", map[string]string{"a": "1:1", "b": "2:1", "c": "4:3"}},
		{"no newline at the end", "[a]\nb = 1", map[string]string{"a": "1:2", "a.b": "2:1"}},
		{"crlf", "a = 1\r\n# x\r\n[b]\r\nc = 2\r\n", map[string]string{"a": "1:1", "b": "3:2", "b.c": "4:1"}},
		{"tables", "[a]\nx = 1\n[a.b]\nx = 2\n[ c . \"d\" ] # e\nx = 3\n", map[string]string{
			"a": "1:2", "a.x": "2:1", "a.b": "3:4", "a.b.x": "4:1", "c": "5:3", "c.d": "5:7", "c.d.x": "6:1"}},
		{"the first mention counts", "[a.b]\nx = 1\n[a]\ny = 2\n", map[string]string{"a": "1:2", "a.b": "1:4", "a.b.x": "2:1", "a.y": "4:1"}},
		{"arrays of tables", "[[a]]\nx = 1\n[[a]]\n[a.b]\ny = 2\n[[a.c]]\n[[a.c]]\nz = 3\n", map[string]string{
			"a": "1:3", "a[0]": "1:3", "a[0].x": "2:1", "a[1]": "3:3", "a[1].b": "4:4", "a[1].b.y": "5:1",
			"a[1].c": "6:5", "a[1].c[0]": "6:5", "a[1].c[1]": "7:5", "a[1].c[1].z": "8:1"}},
		{"dotted and quoted", "a . b.\"c d\" = 1\n'e.f' = 2\n\"\\u0067\\t\" = 3\n\"\" = 4\n", map[string]string{
			"a": "1:1", "a.b": "1:5", `a.b."c d"`: "1:7", `"e.f"`: "2:1", `"g\t"`: "3:1", `""`: "4:1"}},
		{"lists", "a = [ 1, # ]\n  \"]\",\n  [ '[' ],\n]\nb = []\n", map[string]string{
			"a": "1:1", "a[0]": "1:7", "a[1]": "2:3", "a[2]": "3:3", "a[2][0]": "3:5", "b": "5:1"}},
		{"inline tables", "a = { b = 1, c.d = { e = '}' }, # x\n  f = [ { g = 1 } ],\n}\nh = 1\n", map[string]string{
			"a": "1:1", "a.b": "1:7", "a.c": "1:14", "a.c.d": "1:16", "a.c.d.e": "1:22",
			"a.f": "2:3", "a.f[0]": "2:9", "a.f[0].g": "2:11", "h": "4:1"}},
		{"strings", "a = \"\\\"\\\\\" # \"\nb = '\\'\nc = \"\"\nd = ''\ne = 1\n", map[string]string{
			"a": "1:1", "b": "2:1", "c": "3:1", "d": "4:1", "e": "5:1"}},
		{"long strings", "a = \"\"\"\n[x]\ny = \"\\\"\"\" \\\n \"\"\\\" \"\"\"\"\"\nb = '''\nz = 1\\'''''\nc = \"\"\"\"\"\"\nd = 1\n", map[string]string{
			"a": "1:1", "b": "5:1", "c": "7:1", "d": "8:1"}},
		{"dates", "a = 1979-05-27 07:32:00Z # x\nb = [1979-05-27 07:32:00, 07:32:00]\nc = 1\n", map[string]string{
			"a": "1:1", "b": "2:1", "b[0]": "2:6", "b[1]": "2:27", "c": "3:1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := toml.Values(tt.src); err != nil {
				t.Fatalf("not TOML: %v", err)
			}
			got, whole := places(tt.src)
			if !whole {
				t.Error("gave up")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The places and values of each file of the corpus agree with the library's decoder.
func TestNodesOfCorpus(t *testing.T) {
	for _, dir := range []string{"valid", "invalid"} {
		files, err := filepath.Glob("../../testdata/config/" + dir + "/*.toml")
		if err != nil || len(files) < 5 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checkNodes(t, string(text))
		}
	}
}

// The number of keys is bounded, since the library's search for duplicates is quadratic in it.
func TestDocumentWithTooManyKeysIsRefused(t *testing.T) {
	for n, want := range map[int]string{10_000: "", 10_001: "line 1: more than 10000 keys and list elements; write fewer"} {
		text := "a = [" + strings.Repeat("'', ", n-1) + "]"
		_, err := toml.Values(text)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
			t.Errorf("%d keys and elements: %v, want %q", n, err, want)
		}
	}
}

// checkNodes compares the nodes of a document with the library's decoder: the same keys and values,
// and each key is at its place.
func checkNodes(t *testing.T, text string) {
	t.Helper()
	if strings.HasPrefix(text, "\ufeff") {
		return // Load removes it
	}
	var want map[string]any
	if library.Unmarshal([]byte(text), &want) != nil {
		if _, err := toml.Values(text); err == nil {
			t.Fatalf("only the library refuses\n%s", text)
		}
		return
	}
	found, ok := places(text)
	if !ok {
		return // it exceeds a limit
	}
	got, err := toml.Values(text)
	if err != nil {
		t.Fatal(err)
	}
	date := cmp.FilterValues(func(x, y any) bool { return isDate(x) && isDate(y) }, cmp.Ignore())
	if diff := cmp.Diff(want, got, date, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s\nof\n%s", diff, text)
	}
	keys := map[string]string{}
	var walk func(v any, key, name string)
	walk = func(v any, key, name string) {
		if key != "" {
			keys[key] = name
		}
		switch v := v.(type) {
		case map[string]any:
			for k, sub := range v {
				walk(sub, strings.TrimPrefix(key+"."+config.Key(k), "."), k)
			}
		case []any:
			for i, sub := range v {
				walk(sub, fmt.Sprintf("%s[%d]", key, i), "")
			}
		}
	}
	walk(want, "", "")
	lines := strings.Split(text, "\n")
	for key, name := range keys {
		at, ok := found[key]
		if !ok {
			t.Fatalf("%s has no place in\n%s", key, text)
		}
		var line, column int
		if _, err := fmt.Sscanf(at, "%d:%d", &line, &column); err != nil || line > len(lines) || column > len(lines[line-1]) {
			t.Fatalf("%s is at %s, outside of\n%s", key, at, text)
		}
		if rest := lines[line-1][column-1:]; name != "" && !strings.HasPrefix(rest, name) && rest[0] != '"' && rest[0] != '\'' {
			t.Fatalf("%s is at %s, where the text is %q", key, at, rest)
		}
	}
	if len(found) != len(keys) {
		t.Fatalf("%d places of %d keys: %v in\n%s", len(found), len(keys), found, text)
	}
}

// isDate reports whether a value is a date or time of the library or of a node.
func isDate(v any) bool {
	switch v.(type) {
	case time.Time, library.LocalDate, library.LocalTime, library.LocalDateTime, toml.Date:
		return true
	}
	return false
}

// places returns "line:column" for each key of a document, and false if the document is not valid.
func places(text string) (map[string]string, bool) {
	root, err := toml.Parse(text)
	if err != nil {
		return nil, false
	}
	out := map[string]string{}
	l := toml.NewLines(text)
	var walk func(n *toml.Node, key string)
	walk = func(n *toml.Node, key string) {
		if key != "" {
			line, column := l.Position(n.Key)
			out[key] = fmt.Sprintf("%d:%d", line, column)
		}
		for name, sub := range n.Table {
			dot := "."
			if key == "" {
				dot = ""
			}
			walk(sub, key+dot+config.Key(name))
		}
		for i, sub := range n.List {
			walk(sub, fmt.Sprintf("%s[%d]", key, i))
		}
	}
	walk(root, "")
	return out, true
}
