package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
)

// Every starter loads, fits the schema, starts a bridge of this version, and says
// of each of its keys why it is there.
func TestStarters(t *testing.T) {
	for _, profile := range []string{"careful", "team", "locked"} {
		for _, workspace := range []bool{false, true} {
			text, err := initCmd{Profile: profile, Workspace: workspace}.starter()
			if err != nil {
				t.Fatal(err)
			}
			t.Run(profile, func(t *testing.T) {
				cfg := loadStarter(t, text, workspace)
				for _, n := range cfg.Unenforced() {
					t.Errorf("line %d: %s is not acted on: put #~ before it", n.Origin.Line, n.Key)
				}
				if cfg.Policy.Mode != config.Enforce {
					t.Errorf("mode %s", cfg.Policy.Mode)
				}
				if _, err := policy.New(cfg.Policy, cfg.Place); err != nil {
					t.Error(err)
				}
				fitsSchema(t, text)
				explained(t, text)
			})
		}
	}
}

// What stands behind #~ is what this version does not act on, and nothing else.
func TestStartersHoldBack(t *testing.T) {
	for _, profile := range []string{"careful", "team", "locked"} {
		for _, workspace := range []bool{false, true} {
			text, err := initCmd{Profile: profile, Workspace: workspace}.starter()
			if err != nil {
				t.Fatal(err)
			}
			held := strings.Count(text, "\n#~ ")
			text = strings.ReplaceAll(text, "\n#~ ", "\n")
			if got := len(loadStarter(t, text, workspace).Unenforced()); got != held {
				t.Errorf("%s: %d keys stand behind #~, and this version does not act on %d: uncomment the others", profile, held, got)
			}
			fitsSchema(t, text)
			explained(t, text)
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

func fitsSchema(t *testing.T, text string) {
	t.Helper()
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
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

// explained: a key has its why behind it, or in the line above.
func explained(t *testing.T, text string) {
	t.Helper()
	above := ""
	for line := range strings.Lines(text) {
		if strings.Contains(line, " = ") && !strings.HasPrefix(line, "#") && !strings.Contains(line, " # ") && !strings.HasPrefix(above, "#") {
			t.Errorf("no why: %s", line)
		}
		above = line
	}
}
