package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
)

// Load does not panic on any file. An error has a place in the file and fits on one line.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"valid/*.toml", "invalid/*.toml", "layers/*.txtar"} {
		files, err := filepath.Glob(filepath.Join(testdata, pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	for _, s := range []string{
		"\ufeff[policy]\nx = 1", "a = \"", "a = \"\"\"", "[", "[[a", "a.", "\r", "a = [", "a = {", "a = 1 1", "\x00", "a = 1979-05-27 07:32",
		"a = { b = 1\n", "a = [1,\n]\n[a]\n", "\"\\", "a = \"\\", "a = '''\r", "\xff\xfe[\x00", "a = 0x", "a = -.1", "=",
		"\"\\x41\" = 1\n", "a = \"\\e\"",
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	name := filepath.Join(dir, config.WorkspaceFile)
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		most := strings.Count(string(text), "\n") + 1
		for _, opts := range []config.Options{{User: name, Home: "/home/someone"}, {Workspace: dir}} {
			c, err := config.Load(opts)
			if err == nil {
				c.Unenforced()
				continue
			}
			list := config.Errors(err)
			if len(list) == 0 {
				t.Fatalf("not of this package: %v", err)
			}
			for _, e := range list {
				if strings.Contains(e.Error(), "\n") || e.Line < 1 || e.Line > most || e.Column < 1 {
					t.Fatalf("%q, of %d lines", e.Error(), most)
				}
			}
		}
	})
}

// A hostile file of the largest size is refused or read in no time.
func TestLoadOfHostileFileIsFast(t *testing.T) {
	const size = 256 << 10
	fill := func(s string) string { return strings.Repeat(s, (size-64)/len(s)) }
	for name, text := range map[string]string{
		"brackets":      "a = " + fill("["),
		"braces":        "a = " + fill("{a="),
		"braces spaced": "a = " + fill("{ a = { "),
		"dots":          fill("a.") + "a = 1",
		"header dots":   "[" + fill("a.") + "a]",
		"keys":          numbered("k%d = 1\n", size),
		"most keys":     numbered("k%d = 1\n", 120_000),
		"tables":        numbered("[t%d]\n", size),
		"rules":         fill("[[policy.rule]]\n"),
		"dotted":        numbered("a.b.c.d.e.f.g.h%d = 1\n", size),
		"list":          "a = [" + fill("1,") + "]",
		"string":        `a = "` + fill("x"),
		"escapes":       `a = """` + fill("\\\n ") + `"""`,
		"quotes":        "a = " + fill(`"`),
		"bad words":     "[policy]\nmode = \"" + fill("e") + "\"",
		"glob":          "[policy]\nmodels = [\"" + fill("{a,") + "\"]",
		"groups":        "[[policy.rule]]\npath = \"**/" + strings.Repeat("{a,b}", 200) + "\"\ndecision = \"deny\"",
		"stars":         "[policy]\nmodels = [\"" + fill("**/*a") + "\"]",
		"roots":         "[policy]\nwritable_roots = [" + fill("\"${workspace}\",") + "]",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, config.WorkspaceFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			_, err := config.Load(config.Options{Workspace: dir})
			took := time.Since(begin)
			t.Logf("%v: %.120v", took, err)
			// Generous, for the race detector on a busy machine: without the bounds it takes many minutes.
			if took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

func numbered(form string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size-40; i++ {
		b.WriteString(strings.ReplaceAll(form, "%d", strings.Repeat("a", i%5)+string(rune('a'+i%26))+itoa(i)))
	}
	return b.String()
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + itoa(i%10)
}
