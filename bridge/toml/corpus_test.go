package toml_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/toml"
)

// Values reads a document as Codex does, or refuses it. The corpus has Codex's values.
func TestValuesAreThoseOfCodex(t *testing.T) {
	text, err := os.ReadFile("../../testdata/toml/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	documents := 0
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(columns) != 3 {
			continue
		}
		documents++
		document, err := strconv.Unquote(columns[0])
		if err != nil {
			t.Fatal(line, err)
		}
		got, err := toml.Values(document)
		switch {
		case err == nil && columns[1] == "!":
			t.Errorf("%s: %v, which Codex refuses", columns[0], got)
		case err != nil && columns[1] != "!" && columns[2] != "refused":
			t.Errorf("%s: refused: %v; Codex has %s", columns[0], err, columns[1])
		case (err != nil && columns[1] != "!") != (columns[2] == "refused"):
			t.Errorf("%s is not %s", columns[0], columns[2])
		}
		if err != nil || columns[1] == "!" {
			continue
		}
		var want any
		decoder := json.NewDecoder(strings.NewReader(columns[1]))
		decoder.UseNumber()
		if err := decoder.Decode(&want); err != nil {
			t.Fatal(line, err)
		}
		if w, g := ofCodex(want), ofBridge(got); !reflect.DeepEqual(w, g) { // cmp.Diff is exponential in the depth
			t.Errorf("%s: %v, Codex has %v", columns[0], g, w)
		}
	}
	if documents < 500 {
		t.Errorf("only %d documents", documents)
	}
}

// ofCodex replaces the forms of dates and numbers in Codex's JSON by those of ofBridge.
func ofCodex(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v["$__toml_private_datetime"] != nil {
			return "a date"
		}
		for key, member := range v {
			v[key] = ofCodex(member)
		}
	case []any:
		for i, element := range v {
			v[i] = ofCodex(element)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

// ofBridge replaces what JSON can't express. The value of a date counts nowhere.
func ofBridge(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = ofBridge(member)
		}
	case []any:
		for i, element := range v {
			v[i] = ofBridge(element)
		}
	case toml.Date:
		return "a date"
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return v
}

// Keys of a struct match exactly: Codex ignores a key in other letters.
func TestDecodeMatchesKeysExactly(t *testing.T) {
	var got struct {
		Home string `toml:"sqlite_home"`
		Rest map[string]struct {
			Level string `toml:"trust_level"`
		} `toml:"projects"`
		Sizes []int `toml:"sizes"`
	}
	const text = "\ufeffsqlite_home = '/a'\nSqlite_Home = '/b'\nsizes = [1, 2]\n[projects.'/x']\ntrust_level = 't'\nTRUST_LEVEL = 'u'\nother = 1\n"
	if err := toml.Decode(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Home != "/a" || got.Rest["/x"].Level != "t" || len(got.Sizes) != 2 {
		t.Errorf("%+v", got)
	}
	for _, wrong := range []string{"sqlite_home = 1", "sizes = 1", "sizes = [1.0]", "projects = 'x'", "projects.x = 1", "projects.x.trust_level = true"} {
		if err := toml.Decode(wrong, &got); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
}

// Parse does not panic, and agrees with the library on each document that it accepts.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a = { b = 1 }\n[c]\nd = [1, 'x']\n", "\ufeffa = 1", "[[a.b]]\nc.d = 2024-01-01\n", "a = { \"$__toml_private_datetime\" = 'x' }"} {
		f.Add(text)
	}
	f.Fuzz(checkNodes)
}
