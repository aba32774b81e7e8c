//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	goflag "flag"
	"os"
	"strconv"
	"strings"
	"testing"
)

var updateTOML = goflag.Bool("update-toml", false, "record Codex's values in testdata/toml again")

// tomlCorpus has documents, and the values that Codex reads from them.
const tomlCorpus = "../../../testdata/toml/corpus.txt"

// Codex reads the values that the corpus says, so the bridge's reading is compared with Codex's of today.
func TestTOMLOfCodex(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(tomlCorpus)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, options{})
	c := w.open(codexPath, "app-server")
	c.initialize(nil)
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "\t")
		if strings.HasPrefix(line, "#") || len(columns) != 3 {
			out.WriteString(line)
			continue
		}
		document, err := strconv.Unquote(columns[0])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		w.write("home/config.toml", document)
		got := c.readTOML()
		if got != columns[1] && !*updateTOML {
			t.Errorf("%s: codex has %s, the corpus %s", columns[0], got, columns[1])
		}
		out.WriteString(columns[0] + "\t" + got + "\t" + columns[2])
	}
	if *updateTOML {
		if err := os.WriteFile(tomlCorpus, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// readTOML returns the values that Codex reads from the user's config.toml, as JSON; "!" if it refuses the file.
func (c *conversation) readTOML() string {
	result, refused := c.Call(c.ctx, "config/read", map[string]any{"cwd": c.root, "includeLayers": true})
	if refused != nil && strings.Contains(refused.Message, "failed to read configuration layers") {
		return "!"
	} else if refused != nil {
		c.t.Fatal(refused)
	}
	var read struct {
		Layers []struct {
			Name   struct{ Type string }
			Config json.RawMessage
		}
	}
	if err := json.Unmarshal(result, &read); err != nil {
		c.t.Fatal(err)
	}
	for _, layer := range read.Layers {
		if layer.Name.Type == "user" {
			var compact bytes.Buffer
			if err := json.Compact(&compact, layer.Config); err != nil {
				c.t.Fatal(err)
			}
			return compact.String()
		}
	}
	return "no layer"
}
