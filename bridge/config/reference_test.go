package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"

	"github.com/google/go-cmp/cmp"
)

// tableMark begins a table of docs/reference/configuration.md that the test writes:
// <!-- keys SECTION -->, in which a table of names ends in ".*" and a list in "[]".
var tableMark = regexp.MustCompile(`(?s)(<!-- keys (\S+) -->\n).*?(<!-- end -->)`)

// The tables of keys in the reference are those of the program.
func TestReferenceIsCurrent(t *testing.T) {
	const file = "../../docs/reference/configuration.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(config.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool)
	got := tableMark.ReplaceAllStringFunc(string(page), func(mark string) string {
		part := tableMark.FindStringSubmatch(mark)
		section := schemaAt(root, part[2])
		if section == nil {
			t.Errorf("there is no section %s", part[2])
			return mark
		}
		shown[part[2]] = true
		return part[1] + keyTable(part[2], section) + "\n" + part[3]
	})
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(page), got); diff != "" && !*update {
		t.Errorf("run go test ./bridge/config -update\n%s", diff)
	}
	sections(root, "", func(at string) {
		if !shown[at] {
			t.Errorf("%s has no table of %s", file, at)
		}
	})
}

// schemaAt returns the schema of a section, or nil.
func schemaAt(schema map[string]any, section string) map[string]any {
	for name := range strings.SplitSeq(section, ".") {
		if name == "*" {
			schema, _ = schema["additionalProperties"].(map[string]any)
			continue
		}
		list, isList := strings.CutSuffix(name, "[]")
		properties, _ := schema["properties"].(map[string]any)
		if schema, _ = properties[list].(map[string]any); isList {
			schema, _ = schema["items"].(map[string]any)
		}
	}
	return schema
}

// sections calls found for each table of keys in the schema.
func sections(schema map[string]any, at string, found func(string)) {
	properties, _ := schema["properties"].(map[string]any)
	leaves := false
	for name, value := range properties {
		value := value.(map[string]any)
		below := strings.TrimPrefix(at+"."+name, ".")
		if items, ok := value["items"].(map[string]any); ok && items["properties"] != nil {
			sections(items, below+"[]", found)
		} else if entry, ok := value["additionalProperties"].(map[string]any); ok && entry["properties"] != nil {
			sections(entry, below+".*", found)
		} else if value["properties"] != nil && !strings.HasSuffix(below, "input_schema") {
			sections(value, below, found)
		} else {
			leaves = true
		}
	}
	if leaves && at != "" {
		found(at)
	}
}

// keyTable returns the table of the keys of a section. Keys that are sections have their own.
func keyTable(section string, schema map[string]any) string {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	lines := []string{"key | value | meaning", "---|---|---"}
	for _, name := range config.KeyOrder(section) {
		key := properties[name].(map[string]any)
		if items, ok := key["items"].(map[string]any); ok && items["properties"] != nil {
			continue
		}
		if entry, ok := key["additionalProperties"].(map[string]any); ok && entry["properties"] != nil {
			continue
		}
		value := keyType(section+"."+name, key)
		switch initial, ok := key["default"]; {
		case slices.Contains(required, any(name)):
			value += ", required"
		case ok && initial != "" && name != "input_schema":
			text, err := json.Marshal(initial)
			if err != nil {
				panic(err)
			}
			code := "`" + strings.ReplaceAll(string(text), `","`, `", "`) + "`"
			if key["enum"] != nil || key["type"] == "boolean" {
				value = strings.Replace(value, code, "**"+code+"**", 1)
			} else {
				value += ", **" + code + "**"
			}
		}
		lines = append(lines, fmt.Sprintf("`%s` | %s | %s", name, value, key["description"]))
	}
	return strings.Join(lines, "\n")
}

// keyType returns the type of a value in words.
func keyType(key string, schema map[string]any) string {
	least, most := config.Bounds(key)
	tightens := config.Tightens(key)
	if enum, ok := schema["enum"].([]any); ok {
		words := make([]string, len(enum))
		for i, word := range enum {
			words[i] = fmt.Sprintf("`%q`", word)
		}
		if scale, ok := strings.CutPrefix(tightens, "only move along "); ok {
			words = strings.Split(scale, " → ")
			for i, word := range words {
				words[i] = fmt.Sprintf("`%q`", word)
			}
			return strings.Join(words, "→")
		}
		return strings.Join(words, ", ")
	}
	if schema["anyOf"] != nil { // a size
		return bounded("size", least, most, func(n int64) string { return config.Size(n).String() })
	}
	switch schema["type"] {
	case "string":
		if schema["pattern"] == config.DurationForm() {
			return bounded("duration", least, most, func(n int64) string { return config.Duration(time.Duration(n)).String() })
		}
	case "boolean":
		switch tightens {
		case "only change it to true":
			return "`false`→`true`"
		case "only change it to false":
			return "`true`→`false`"
		}
		return "`true`, `false`"
	case "integer":
		return bounded("number", least, most, func(n int64) string { return fmt.Sprint(n) })
	case "array":
		items, _ := schema["items"].(map[string]any)
		if items["enum"] != nil {
			return "list of " + keyType(key+"[]", items)
		}
		return "strings"
	case "object":
		if entry, ok := schema["additionalProperties"].(map[string]any); ok {
			if entry["enum"] != nil {
				return "table of " + keyType(key+".*", entry)
			}
			return "table of strings"
		}
		return "table"
	}
	return fmt.Sprint(schema["type"])
}

func bounded(name string, least, most int64, show func(int64) string) string {
	if least == 0 {
		return fmt.Sprintf("%s, up to %s", name, show(most))
	}
	return fmt.Sprintf("%s to %s", show(least), show(most))
}
