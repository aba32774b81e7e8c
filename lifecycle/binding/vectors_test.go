package binding_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/bridgetest/vectors"
	"codex-bridge/lifecycle/binding"
)

var now = time.Date(2026, 2, 3, 4, 5, 6, 7_000_000, time.UTC)

func seen(t testing.TB) (v struct {
	Path    string
	Written struct {
		Keys                                                    []string
		IndentedTwoSpaces, EndsWithNewline, AbsentFieldsOmitted bool
	}
	Clear []struct {
		Name    string
		Cleared *bool
	}
	Cases []struct {
		Name         string
		File, Parsed json.RawMessage
	}
}) {
	t.Helper()
	vectors.Read(t, "session_binding.json", &v)
	if len(v.Cases) == 0 || len(v.Clear) == 0 || len(v.Written.Keys) == 0 {
		t.Fatal("no cases")
	}
	return v
}

// fileOf is the text of a file: in the vectors a record, or a string with any text.
func fileOf(file json.RawMessage) []byte {
	var text string
	if json.Unmarshal(file, &text) == nil && file[0] == '"' {
		return []byte(text)
	}
	return file
}

const asked = "<the session file asked for>"

func TestSessionBindingVectors(t *testing.T) {
	v := seen(t)
	if got := binding.Path("/d/s.jsonl"); got != v.Path {
		t.Errorf("the file is %s, want %s", got, v.Path)
	}
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			got, dropped, err := binding.Read(fileOf(c.File), asked, binding.Options{Now: now})
			if (err == nil) != (string(c.Parsed) != "null") {
				t.Fatalf("read: %v, want %s", err, c.Parsed)
			}
			if err != nil {
				return
			}
			var g, w any
			if err := json.Unmarshal(binding.Encode(got), &g); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(c.Parsed, &w); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w, g); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.Name != "full" && len(dropped) == 0 {
				t.Error("nothing is named of what was dropped")
			}
		})
	}
}

func TestWrittenVectors(t *testing.T) {
	w := seen(t).Written
	b := binding.Binding{ThreadID: "t", SessionFile: "/s", Cwd: "/w", Model: "m", ModelProvider: "openai", ServiceTier: "fast"}
	text := binding.Encode(b.Stamped(binding.Options{Now: now}))
	d := json.NewDecoder(bytes.NewReader(text))
	var keys []string
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		if key, ok := token.(string); ok {
			keys = append(keys, key)
			if _, err := d.Token(); err != nil { // its value
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(keys, w.Keys) {
		t.Errorf("the keys are %q, want %q", keys, w.Keys)
	}
	lines := strings.Split(string(text), "\n")
	if got := strings.HasPrefix(lines[1], `  "`) && !strings.HasPrefix(lines[1], "   "); got != w.IndentedTwoSpaces {
		t.Errorf("indented by two spaces: %v", got)
	}
	if got := bytes.HasSuffix(text, []byte("}\n")); got != w.EndsWithNewline {
		t.Errorf("ends with a line end: %v", got)
	}
	back, _, err := binding.Read(text, "/s", binding.Options{Now: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if back.ServiceTier != "priority" || back.CreatedAt != "2026-02-03T04:05:06.007Z" || back.UpdatedAt != back.CreatedAt {
		t.Errorf("read back: %+v", back)
	}
}

func TestClearVectors(t *testing.T) {
	b := binding.Binding{ThreadID: "t"}
	for _, c := range seen(t).Clear {
		t.Run(c.Name, func(t *testing.T) {
			thread := "t"
			switch {
			case strings.Contains(c.Name, "other"):
				thread = "other"
			case c.Cleared == nil: // what is not there is not cleared: DEVIATIONS.md
				if (binding.Binding{}).IsOf("") {
					t.Error("no binding is somebody's")
				}
				return
			}
			if got := b.IsOf(thread); got != *c.Cleared {
				t.Errorf("cleared %v, want %v", got, *c.Cleared)
			}
		})
	}
}
