package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/toml"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// Each starter loads, matches the schema, starts a bridge of this version, and explains each of its
// keys.
func TestStartersLoad(t *testing.T) {
	for _, profile := range []string{"careful", "team", "read-only", "locked"} {
		for _, workspace := range []bool{false, true} {
			text, err := initCmd{Profile: profile, Workspace: workspace}.starter()
			if err != nil {
				t.Fatal(err)
			}
			t.Run(profile, func(t *testing.T) {
				cfg := loadStarter(t, text, workspace)
				for _, n := range cfg.Unenforced() {
					t.Errorf("line %d: %s has no effect: put #~ before it", n.Origin.Line, n.Key)
				}
				if cfg.Policy.Mode != config.Enforce {
					t.Errorf("mode %s", cfg.Policy.Mode)
				}
				if _, err := policy.New(cfg.Policy, cfg.Place); err != nil {
					t.Error(err)
				}
				checkSchema(t, text)
				checkExplained(t, text)
			})
		}
	}
}

// Only keys without effect in this version stand after #~.
func TestStartersMarkUnusedKeys(t *testing.T) {
	for _, profile := range []string{"careful", "team", "read-only", "locked"} {
		for _, workspace := range []bool{false, true} {
			text, err := initCmd{Profile: profile, Workspace: workspace}.starter()
			if err != nil {
				t.Fatal(err)
			}
			held := strings.Count(text, "\n#~ ")
			text = strings.ReplaceAll(text, "\n#~ ", "\n")
			if got := len(loadStarter(t, text, workspace).Unenforced()); got != held {
				t.Errorf("%s: %d keys stand after #~, but only %d have no effect in this version: uncomment the others", profile, held, got)
			}
			checkSchema(t, text)
			checkExplained(t, text)
		}
	}
}

func loadStarter(t *testing.T, text string, workspace bool) *config.Config {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, config.WorkspaceFile)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	files := config.Options{User: file, Home: dir}
	if workspace {
		files = config.Options{Workspace: dir, Home: dir}
	}
	cfg, err := config.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func checkSchema(t *testing.T, text string) {
	t.Helper()
	tree, err := toml.Values(text)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(doc); err != nil {
		t.Error(err)
	}
}

// checkExplained checks that each key, where it stands first, has a comment after it or in the line
// above.
func checkExplained(t *testing.T, text string) {
	t.Helper()
	above := ""
	known := make(map[string]bool)
	for line := range strings.Lines(text) {
		key, _, isKey := strings.Cut(line, " = ")
		if isKey && !known[key] && !strings.HasPrefix(line, "#") && !strings.Contains(line, " # ") && !strings.HasPrefix(above, "#") {
			t.Errorf("no comment: %s", line)
		}
		above, known[key] = line, known[key] || isKey
	}
}

// The lines of a starter fit a page of 100 columns.
func TestStartersFitTheOutput(t *testing.T) {
	files, err := filepath.Glob("init/*.toml")
	more, err2 := filepath.Glob("init/workspace/*.toml")
	if err != nil || err2 != nil || len(files)+len(more) != 8 {
		t.Fatal(files, more, err, err2)
	}
	for _, name := range append(files, more...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if n := len([]rune(line)) - 1; n > output.MaxColumns {
				t.Errorf("%s: a line of %d: %s", name, n, line)
			}
		}
	}
}
