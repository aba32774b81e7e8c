package config_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/bridge/config"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("config.json")
})

// validate checks a parsed file against the schema.
func validate(t *testing.T, tree map[string]any) error {
	t.Helper()
	schema, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

// The checked-in schema is what the tables say.
func TestSchemaIsCurrent(t *testing.T) {
	const file = "../../docs/reference/config.schema.json"
	if *update {
		if err := os.WriteFile(file, config.Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(config.Schema())); diff != "" {
		t.Errorf("run go test ./bridge/config -update\n%s", diff)
	}
}

// Each key of the schema has a description and is in the reference, and each row of the tables is a
// key.
func TestTablesAgree(t *testing.T) {
	docs, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(config.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	var walk func(s map[string]any, key string)
	walk = func(s map[string]any, key string) {
		found[key] = true
		if props, ok := s["properties"].(map[string]any); ok && !strings.HasSuffix(key, "input_schema") {
			for name, sub := range props {
				at := strings.TrimPrefix(key+"."+name, ".")
				walk(sub.(map[string]any), at)
				if sub.(map[string]any)["description"] == nil {
					t.Errorf("%s has no description", at)
				}
				if !strings.Contains(string(docs), "`"+name+"`") && !strings.Contains(string(docs), "["+at+"]") && !strings.Contains(string(docs), "["+at+".NAME]") {
					t.Errorf("docs/reference/configuration.md has nothing on %s", at)
				}
			}
		}
		if sub, ok := s["additionalProperties"].(map[string]any); ok {
			walk(sub, key+".*")
		}
		if sub, ok := s["items"].(map[string]any); ok {
			walk(sub, key+"[]")
		}
	}
	walk(root, "")
	keys, orders, workspace := config.Tables()
	for _, k := range keys {
		if !found[k] {
			t.Errorf("the row %s is no key", k)
		}
	}
	for _, k := range orders {
		if !found[k] {
			t.Errorf("the order of %s is of no key", k)
		}
	}
	for _, k := range workspace {
		if !found[k] {
			t.Errorf("a workspace may set %s, which is no key", k)
		}
	}
	// Keys that a workspace file may have must have an order. Steering refuses nothing, so it needs
	// none.
	for k := range found {
		s := strings.Split(k, ".")
		leaf := len(s) > 1 && !strings.Contains(strings.TrimSuffix(k, "[]"), "[]") && k != "policy.methods" && k != "policy.rule"
		if strings.HasSuffix(k, "[]") && k != "policy.rule[]" {
			leaf = false
		}
		if _, ordered := find(orders, k); leaf && config.WorkspaceAllows(k) && !ordered && s[0] != "steering" {
			t.Errorf("a workspace may set %s without an order", k)
		}
	}
}

func find(list []string, want string) (int, bool) {
	for i, s := range list {
		if s == want {
			return i, true
		}
	}
	return 0, false
}

// otherExamples are the beginnings of examples that are no configuration of the bridge.
var otherExamples = []string{
	"# ~/.codex/config.toml\n",            // Codex's
	"check_for_update_on_startup = false", // Codex's
	"# cases.toml\n",                      // of `policy test`, which an end-to-end test runs
}

// The examples in the documents are configurations. Keys without a header belong to [policy]. An example is enforced if
// it has a policy.
func TestDocumentsHaveValidConfigurations(t *testing.T) {
	found, others := 0, map[string]bool{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md", "../../editors/*/*.md", "../../packaging/*.md", "../../packaging/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			docs, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, block := range regexp.MustCompile("(?ms)^ *```toml\n(.*?)^ *```$").FindAllStringSubmatch(string(docs), -1) {
				text := regexp.MustCompile(`"ssh-ed25519 AAAA… (\w+)"`).ReplaceAllStringFunc(block[1], exampleKey)
				if i := slices.IndexFunc(otherExamples, func(start string) bool { return strings.HasPrefix(text, start) }); i >= 0 {
					others[otherExamples[i]] = true
					continue
				}
				if !strings.HasPrefix(strings.TrimSpace(text), "[") {
					text = "[policy]\n" + text
				}
				found++
				c, err := load(write(t, text))
				if err != nil || strings.Contains(text, "policy") && !strings.Contains(text, "[policy_source]") && c.Policy.Mode != config.Enforce {
					t.Errorf("%s: %v:\n%s", file, err, text)
				}
			}
		}
	}
	if found < 20 || len(others) != len(otherExamples) {
		t.Errorf("%d examples, and of others only %v", found, others)
	}
}

// exampleKey returns an SSH key in place of the shortened one of an example, another for each name.
func exampleKey(example string) string {
	key := []byte(deskKey)
	copy(key[len(key)-8:], base64.StdEncoding.EncodeToString([]byte(example[len(`"ssh-ed25519 AAAA… `):]))[:4])
	return `"` + string(key) + `"`
}
