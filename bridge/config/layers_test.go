package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"

	"github.com/google/go-cmp/cmp"
)

// Each archive has some of managed.toml, user.toml, .codex-bridge.toml, inner/.codex-bridge.toml and Codex's
// own requirements.toml. Its want has either the errors, or the warnings and a line "key = value (origin)" for
// each key of a warning and each other that the test checks.
func TestLaterLayersOnlyTighten(t *testing.T) {
	for _, file := range glob(t, "layers/*.txtar") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			comment, files := archive(t, file)
			dir := t.TempDir()
			opts := config.Options{Workspace: dir, Home: "/home/someone"}
			expected, found := "", false
			for _, f := range files {
				name := filepath.Join(dir, f.name)
				switch f.name {
				case "managed.toml":
					opts.Managed = name
				case "user.toml":
					opts.User = name
				case "requirements.toml":
					opts.Requirements = name
				case config.WorkspaceFile:
				case filepath.Join("inner", config.WorkspaceFile):
					opts.Workspace = filepath.Dir(name)
					if err := os.Mkdir(opts.Workspace, 0o700); err != nil {
						t.Fatal(err)
					}
				case "want":
					expected, found = f.text, true
					continue
				default:
					t.Fatalf("what is %s?", f.name)
				}
				if err := os.WriteFile(name, []byte(f.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if !found {
				t.Fatal("nothing is wanted")
			}
			c, err := config.Load(opts)
			var got strings.Builder
			if err != nil {
				fmt.Fprintln(&got, strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
			} else {
				var keys []string
				for _, w := range c.Warnings() {
					fmt.Fprintln(&got, "warning: "+strings.ReplaceAll(w.Error(), dir+string(filepath.Separator), ""))
					if _, ok := c.Origin(w.Key); ok {
						keys = append(keys, w.Key)
					}
				}
				for line := range strings.Lines(expected) {
					if key, _, ok := strings.Cut(line, " = "); ok && !strings.HasPrefix(line, "warning: ") && !slices.Contains(keys, key) {
						keys = append(keys, key)
					}
				}
				for _, key := range keys {
					value := config.Show(c, key)
					if o, ok := c.Origin(key); ok {
						value += fmt.Sprintf(" (%v %s:%d)", o.Layer, strings.TrimPrefix(o.File, dir+string(filepath.Separator)), o.Line)
					}
					fmt.Fprintf(&got, "%s = %s\n", key, value)
				}
			}
			if diff := cmp.Diff(expected, got.String()); diff != "" {
				if *update {
					text := comment
					for _, f := range files {
						if f.name == "want" {
							f.text = got.String()
						}
						text += "-- " + f.name + " --\n" + f.text
					}
					if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				t.Error(diff)
			}
		})
	}
}

type member struct{ name, text string }

// archive reads a txtar file: a comment, then files after "-- name --" lines.
func archive(t *testing.T, file string) (comment string, members []member) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, ok := strings.CutPrefix(line, "-- ")
		if name, end := strings.CutSuffix(name, " --\n"); ok && end {
			members = append(members, member{name: name})
		} else if len(members) == 0 {
			comment += line
		} else {
			members[len(members)-1].text += line
		}
	}
	return comment, members
}
