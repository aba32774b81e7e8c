package handlers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/relay/handlers"
)

// The person sees what a patch does to each file, with line numbers.
func TestPatchShowsEachFileWithLineNumbers(t *testing.T) {
	cwd := t.TempDir()
	for name, text := range map[string]string{
		"old":  "one\ntwo  \nthree\nfour\nfive\n",
		"gone": "away\n",
	} {
		if err := os.WriteFile(filepath.Join(cwd, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("old", filepath.Join(cwd, "link")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ patch, want string }{
		"add":                {"*** Add File: new\n+a\n+b\n", `[{"path":"$/new","kind":{"type":"add"},"diff":"a\nb\n"}]`},
		"delete":             {"*** Delete File: gone\n", `[{"path":"$/gone","kind":{"type":"delete"},"diff":"away\n"}]`},
		"update":             {"*** Update File: old\n@@\n one\n-two\n+2\n+2b\n three\n", `[{"path":"$/old","kind":{"type":"update"},"diff":"@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n"}]`},
		"two hunks":          {"*** Update File: old\n@@\n-one\n@@ three\n-four\n+4\n", `[{"path":"$/old","kind":{"type":"update"},"diff":"@@ -1,1 +1,0 @@\n-one\n@@ -4,1 +3,1 @@\n-four\n+4\n"}]`},
		"moved":              {"*** Update File: old\n*** Move to: sub/new\n@@\n-five\n+5\n", `[{"path":"$/old","kind":{"type":"update","move_path":"$/sub/new"},"diff":"@@ -5,1 +5,1 @@\n-five\n+5\n"}]`},
		"not found":          {"*** Update File: old\n@@\n-six\n", `[{"path":"$/old","kind":{"type":"update"},"diff":"@@\n-six\n"}]`},
		"no file":            {"*** Update File: nothing\n@@\n-x\n", `[{"path":"$/nothing","kind":{"type":"update"},"diff":"@@\n-x\n"}]`},
		"a link is not read": {"*** Delete File: link\n", `[{"path":"$/link","kind":{"type":"delete"},"diff":""}]`},
		"two files":          {"*** Add File: /a\n+x\n*** Delete File: b\n", `[{"path":"/a","kind":{"type":"add"},"diff":"x\n"},{"path":"$/b","kind":{"type":"delete"},"diff":""}]`},
		"a blank in front":   {"*** Add File:  /../new\n+a\n", `[{"path":"$/new","kind":{"type":"add"},"diff":"a\n"}]`},
		"blanks around":      {"*** Update File: \u00a0/old \n*** Move to:  /new \n@@\n-x\n", `[{"path":"$/ /old","kind":{"type":"update","move_path":"$/ /new"},"diff":"@@\n-x\n"}]`},
		"a tab in a name":    {"*** Add File: \t.\t./a\tb\r\n+a\n", `[{"path":"$above/ab","kind":{"type":"add"},"diff":"a\n"}]`},
		"nothing":            {"", `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(handlers.ParsePatch("*** Begin Patch\n"+test.patch+"*** End Patch", cwd))
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.NewReplacer("$above", filepath.Dir(cwd), "$", cwd).Replace(test.want); string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// The bytes and lines read are bounded, however often a patch names a file.
func TestParsePatchReadsABoundedAmount(t *testing.T) {
	cwd := t.TempDir()
	for name, text := range map[string]string{"long": strings.Repeat("x", 1<<20), "lines": strings.Repeat("\n", 500_000)} {
		if err := os.WriteFile(filepath.Join(cwd, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shown := 0
	for _, c := range handlers.ParsePatch(strings.Repeat("*** Delete File: long\n", 20), cwd) {
		shown += len(c.Diff)
	}
	if shown != 4<<20 {
		t.Errorf("%d bytes of files are shown", shown)
	}
	// Files in /proc have size 0. The bridge's environment must not be shown.
	if c := handlers.ParsePatch("*** Delete File: /proc/self/environ\n", cwd); c[0].Diff != "" {
		t.Errorf("%d bytes of the environment are shown", len(c[0].Diff))
	}
	diff := handlers.ParsePatch("*** Update File: lines\n"+strings.Repeat("@@\n-nope\n", 20)+"@@\n-\n", cwd)[0].Diff
	if want := strings.Repeat("@@\n-nope\n", 20) + "@@\n-\n"; diff != want {
		t.Errorf("the last hunk is still looked for: %q", diff)
	}
}

// Any text of a model has something to show.
func FuzzParsePatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n@@ x\n-one\n+two\n*** End Patch")
	f.Add("*** Move to: b\n@@\n@@\n")
	cwd := f.TempDir()
	f.Fuzz(func(t *testing.T, patch string) {
		for _, c := range handlers.ParsePatch(patch, cwd) {
			if !filepath.IsAbs(c.Path) || c.Kind.Type == "" {
				t.Errorf("%+v", c)
			}
		}
	})
}
