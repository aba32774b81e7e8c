package release_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex/release"

	"github.com/google/go-cmp/cmp"
)

// fakeTable is a table of config.toml: a type by key. Types are "a boolean", "a string", "u64", "f64",
// "a sequence" of tables, "a map" of tables, "struct", "enum" and "union". Tables are below the path.
type fakeTable map[string]string

// fakeConfig has the tables by path. Codex complains about a key of a hidden one without its line.
type fakeConfig struct {
	tables map[string]fakeTable
	hidden string
}

// complain returns what Codex says about a config.toml.
func (f fakeConfig) complain(text string) (string, error) {
	at, shown, missing := "", 0, ""
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		failed := func(format string, args ...any) (string, error) {
			if strings.HasPrefix(at, f.hidden) && f.hidden != "" {
				i = shown
			}
			return fmt.Sprintf("failed to reload config: /home/config.toml:%d:1: ", i+1) + fmt.Sprintf(format, args...), nil
		}
		if strings.HasPrefix(line, "[") {
			at, shown = strings.Trim(line, "[]"), i
			missing = f.tables[at]["!"]
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok { // an empty file
			continue
		}
		table, known := f.tables[at]
		kind, ok := table[key]
		switch is := map[byte]string{'t': "a boolean", '"': "a string", '1': "f64", '[': "a sequence", '{': "struct"}[value[0]]; {
		case !known && at != "features":
		case table["*"] == "enum":
			if !ok {
				return failed("unknown variant `%s`, expected `grpc` or `off`", key)
			}
			if kind == "struct" {
				return failed("invalid type: %s, expected struct variant Exporter::Grpc", value)
			}
			return failed("expected table, found float")
		case table["*"] == "union" && (!ok || is != kind && !(kind == "u64" && value == "1")):
			return failed("data did not match any variant of untagged enum FeatureToml")
		case !ok && table["*"] != "" && !strings.HasPrefix(table["*"], is):
			return failed("invalid type: %s, expected %s", value, table["*"])
		case !ok || is == kind && !(kind == "a sequence" && value == "[1.5]") || kind == "u64" && value == "1":
			if key == missing {
				missing = ""
			}
		case kind == "enum":
			return failed("wanted string or table")
		case kind == "union":
			return failed("data did not match any variant of untagged enum FeatureToml")
		case kind == "tag":
			if value != `"command"` {
				return failed("unknown variant %s, expected one of `command`", strings.ReplaceAll(value, `"`, "`"))
			}
			missing = ""
		case value == "[1.5]" && kind == "a sequence":
			return failed("invalid type: 1.5, expected struct Entry%s", key)
		default:
			return failed("invalid type: %s, expected %s", value, strings.Replace(kind, "struct", "struct T"+key, 1))
		}
	}
	if missing != "" {
		return "failed to reload config: missing field `" + missing + "`", nil
	}
	return "", nil
}

// Codex's complaints about wrong values lead to the keys of all tables.
func TestProbeKeys(t *testing.T) {
	f := fakeConfig{hidden: "hidden", tables: map[string]fakeTable{
		"": {
			"model": "a string", "limit": "u64", "rate": "f64", "tools": "struct", "servers": "struct", "rules": "a sequence",
			"exporter": "enum", "hidden": "struct", "features": "struct", "hooks": "a sequence",
		},
		"tools":            {"web": "struct", "seconds": "f64", "flag": "a boolean"},
		"tools.web":        {"deep": "a boolean"},
		"servers":          {"*": "struct Server", "_default": "struct"},
		"servers._default": {"path": "a string"},
		"servers.NAME":     {"command": "a string", "!": "command"},
		"rules":            {"path": "a string"},
		"exporter":         {"*": "enum", "grpc": "struct", "off": "unit"},
		"exporter.grpc":    {"endpoint": "a string"},
		"hidden":           {"one": "a boolean", "two": "a string"},
		"hooks":            {"type": "tag", "timeout": "u64", "!": "type"},
		"features":         {"*": "a boolean", "proxy": "union", "set": "f64"},
		"features.proxy": {
			"*": "union", "enabled": "a boolean", "url": "a string", "mode": "of its own", "domains": "struct", "limit_of": "u64",
		},
	}}
	lists := [][]string{
		{"limit", "model", "rate", "tools", "servers", "rules", "exporter", "hidden", "features", "hooks"},
		{"web", "seconds", "flag", "deep"},
		{"command", "_other", "path", "grpc", "endpoint", "one", "two", "type", "timeout"},
		{"max_a", "max_b", "max_c", "max_d", "max_e", "enabled", "url", "mode", "domains", "limit_of", "full", "enabled", "other"},
		{"single"},
	}
	for _, word := range []string{"max_a", "max_b", "max_c", "max_d", "max_e"} {
		f.tables[""][word] = "u64"
	}
	f.tables[""]["single"] = "a boolean" // a word alone is not tried
	got, err := release.ProbeKeys(lists, []string{"proxy", "set", "shell"}, f.complain)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"exporter", "exporter.grpc", "exporter.grpc.endpoint",
		"features", "features.proxy", "features.proxy.domains", "features.proxy.enabled", "features.proxy.limit_of", "features.proxy.mode", "features.proxy.url",
		"hidden", "hidden.one", "hidden.two", "hooks", "hooks.timeout", "hooks.type", "limit", "max_a", "max_b", "max_c", "max_d", "max_e", "model", "rate",
		"rules", "rules.path", "servers", "servers.NAME.command", "servers._default", "servers._default.path", "tools", "tools.flag", "tools.seconds", "tools.web", "tools.web.deep",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestProbeKeysErrors(t *testing.T) {
	gone := errors.New("Codex is gone")
	for want, ask := range map[string]func(string) (string, error){
		"Codex complains about no key of config.toml": func(string) (string, error) { return "", nil },
		"no configuration today":                      func(string) (string, error) { return "no configuration today", nil },
		"Codex is gone": func(text string) (string, error) {
			if text != "" {
				return "", gone
			}
			return "", nil
		},
	} {
		if keys, err := release.ProbeKeys([][]string{{"model", "limit"}}, nil, ask); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %s", keys, err, want)
		}
	}
}

// A complaint in a form that no Codex has ends the search, and not the program.
func TestProbeKeysUnknownComplaint(t *testing.T) {
	keys, err := release.ProbeKeys([][]string{{"model", "limit"}}, nil, func(text string) (string, error) {
		if text == "" {
			return "", nil
		}
		return "config.toml:1:1: missing field `x", nil
	})
	if err == nil && slices.Contains(keys, "model") {
		t.Errorf("%v, %v", keys, err)
	}
}
