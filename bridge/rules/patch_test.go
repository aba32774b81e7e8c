package rules_test

import (
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/rules"
)

// A name that Codex may read differently stands for any file.
func TestPatchedFiles(t *testing.T) {
	for line, want := range map[string][]string{
		"*** Add File: a b":        {"a b"},
		"*** Update File: /a/../b": {"/a/../b"},
		"*** Move to: a\r":         {"a"},
		" \t*** Delete File: a":    {"a"},
		"*** Add File: \ufeffa":    {"\ufeffa"}, // no white space
		"*** Add File:  /../a":     {""},
		"*** Add File: \ta":        {""},
		"*** Add File: \u00a0a":    {""},
		"*** Move to: a ":          {""},
		"*** Update File: a\t\r":   {""},
		"*** Add File: .git\thub":  {""},
		"*** Add File: .\r./a":     {""},
		"*** Add File: ":           {""},
		"*** Add File:a":           nil,
		"+*** Add File: a":         nil,
	} {
		if got := rules.PatchedFiles("*** Begin Patch\n" + line + "\n+x\n*** End Patch\n"); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

const patchOfA = "*** Begin Patch\n*** Add File: a\n+x\\y\n*** End Patch\n"

// Each file of a patch counts, both as Codex reads the line and as a shell does. If a patch is not
// fully known, the line may change any file.
func TestChangedFilesOfPatches(t *testing.T) {
	const anyFile = "any file"
	for line, want := range map[string]string{
		"apply_patch <<'EOF'\n" + patchOfA + "EOF\n":                                        "/w/a",
		"apply_patch <<\"EOF\"\n" + patchOfA + "EOF\n":                                      "/w/a",
		"cd b && applypatch <<-'EOF'\n\t" + patchOfA + "\tEOF\n":                            "/w/b/a",
		"apply_patch 0<<'EOF'\n" + patchOfA + "EOF\n":                                       "/w/a",
		"apply_patch '" + patchOfA + "'":                                                    "/w/a",
		"bash -c \"apply_patch '" + patchOfA + "'\"":                                        "/w/a",
		"apply_patch <<EOF\n" + patchOfA + "EOF\n":                                          anyFile,
		"apply_patch <<EOF\n" + strings.Replace(patchOfA, "x", "$x", 1) + "EOF\n":           anyFile,
		"apply_patch <<'EOF'\n" + strings.Replace(patchOfA, ": a", ":  /../a", 1) + "EOF\n": anyFile,
		"apply_patch <<'EOF'\n" + strings.Replace(patchOfA, ": a", ": .\t./a", 1) + "EOF\n": anyFile,
		"apply_patch 3<<'EOF'\n" + patchOfA + "EOF\n":                                       anyFile,
		"apply_patch <<'EOF' <&3\n" + patchOfA + "EOF\n":                                    anyFile,
		"cat <<'EOF' | apply_patch\n" + patchOfA + "EOF\n":                                  anyFile,
		"{ apply_patch; } <<'EOF'\n" + patchOfA + "EOF\n":                                   anyFile,
		"apply_patch <<< \"$p\"":                                                            anyFile,
		"apply_patch < p":                                                                   anyFile,
		"apply_patch \"$(cat p)\"":                                                          anyFile,
		"codex --codex-run-as-apply-patch '" + patchOfA + "'":                               anyFile,
		"$P <<EOF\n" + patchOfA + "EOF\n":                                                   anyFile,
		"$P <<'EOF'\n" + patchOfA + "EOF\n":                                                 "/w/a",
		"apply_patch <<'EOF'\n" + patchOfA + "EOF\n(":                                       anyFile,
		"cat <<'EOF'\n" + patchOfA + "EOF\n":                                                "",
		"grep apply_patch notes":                                                            "",
	} {
		files, any := rules.ChangedFiles(line, "bash", dirsOfW)
		got := ""
		switch {
		case any:
			got = anyFile
		case slices.ContainsFunc(files, func(f rules.ChangedFile) bool { return f.Path == want }):
			got = want
		case len(files) > 0:
			got = files[0].Path
		}
		if got != want {
			t.Errorf("%q: got %s of %v, want %s", line, got, files, want)
		}
	}
}

// Codex applies a patch under three names. A line without the start of a patch applies none.
func TestAppliesPatch(t *testing.T) {
	for line, want := range map[string]bool{
		"apply_patch '" + patchOfA + "'":                      true,
		"applypatch '" + patchOfA + "'":                       true,
		"codex --codex-run-as-apply-patch '" + patchOfA + "'": true,
		"'apply'_pat\\ch '" + patchOfA + "'":                  true,
		"git apply '" + patchOfA + "'":                        false,
		"apply_patch < p":                                     false,
	} {
		if got := rules.AppliesPatch(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
