package main

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	hash40   = "3d3c42e5aac5ba805825da76410c181273ba90b1"
	workflow = ".github/workflows/release.yml"
	manifest = "editors/vscode/package.json"
)

// readyTree is what a repository has in which the owner has set everything.
func readyTree() map[string]string {
	key := base64.StdEncoding.EncodeToString(append([]byte("Ed"), make([]byte, 40)...))
	return map[string]string{
		"go.mod":                 "module code.host.org/owner/codex-bridge\n\ngo 1.26.0\n",
		ownerFile:                "maintainer = \"An Owner <owner@host.org>\"\nnpm = \"@owner/codex-bridge\"\n",
		publicKey:                "untrusted comment: minisign public key 1234\n" + key + "\n",
		"CHANGELOG.md":           "# Changelog\n\n## 1.2.3 - 2026-12-01\n\n## 1.2.2 - date to be set\n",
		"docs/guides/install.md": "```sh\nnpm install -g @owner/codex-bridge\n```\n",
		manifest:                 `{"bugs": "https://code.host.org/owner/codex-bridge/issues"}`,
		workflow:                 "steps:\n  - uses: actions/checkout@" + hash40 + " # v7.0.1\n    uses: ./local\n",
	}
}

// checkTree runs what precedes a build, in a folder with these files.
func checkTree(t *testing.T, files map[string]string, r release) error {
	t.Helper()
	t.Chdir(t.TempDir())
	for file, text := range files {
		write(t, file, text)
	}
	if r.Repository == "" {
		r.Repository = "https://code.host.org/owner/codex-bridge"
	}
	return r.prepare()
}

func TestReleaseNeedsEachValueOfTheOwner(t *testing.T) {
	ready := release{Version: "1.2.3", key: "secret"}
	if err := checkTree(t, readyTree(), ready); err != nil {
		t.Fatal(err)
	}
	if err := checkTree(t, readyTree(), release{Version: "dev", checkOnly: true}); err != nil {
		t.Errorf("the check of a commit without a tag: %v", err)
	}
	for _, test := range []struct{ file, old, new, want string }{
		{"go.mod", "code.host.org/owner/codex-bridge", "codex-bridge.example", `the module path "codex-bridge.example" is a placeholder`},
		{ownerFile, "An Owner <owner@host.org>", "", `maintainer "" is not a name`},
		{ownerFile, "An Owner <owner@host.org>", "An Owner <owner@example.com>", "is not a name with an address"},
		{ownerFile, "@owner/codex-bridge", "", `npm "" is not the name`},
		{"docs/guides/install.md", "@owner/", "", `lacks "npm install -g @owner/codex-bridge"`},
		{publicKey, "untrusted", "", "the public key of minisign is missing"},
		{"CHANGELOG.md", "2026-12-01", "date to be set", `"1.2.3 - date to be set"`},
		{"CHANGELOG.md", "1.2.3", "1.2.4", `"1.2.4 - 2026-12-01"`},
		{manifest, "code.host.org/owner/codex-bridge", "codex-bridge.example", "https://codex-bridge.example/issues is a placeholder"},
		{workflow, "@" + hash40 + " # v7.0.1", "@v7", workflow + ":2: actions/checkout@v7 is not pinned"},
		{workflow, " # v7.0.1", "", "is not pinned"},
	} {
		files := readyTree()
		files[test.file] = strings.ReplaceAll(files[test.file], test.old, test.new)
		if err := checkTree(t, files, ready); err == nil || !strings.Contains(err.Error(), test.want) || strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("%s without %q: %v", test.file, test.old, err)
		}
	}
	for want, r := range map[string]release{
		"MINISIGN_KEY: no secret key":              {Version: "1.2.3"},
		packagePublic + ": the public key":         {Version: "1.2.3", key: "secret", packageKey: "secret"},
		apkPublic + ": the public key":             {Version: "1.2.3", key: "secret", apkKey: "secret"},
		`"https://host.example/owner/name" is not`: {Version: "1.2.3", key: "secret", Repository: "https://host.example/owner/name"},
	} {
		if err := checkTree(t, readyTree(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	files := readyTree()
	files[packagePublic] = "key"
	if err := checkTree(t, files, ready); err == nil || !strings.Contains(err.Error(), "PACKAGE_KEY: no secret key") {
		t.Errorf("a public key whose secret key is missing: %v", err)
	}
}

func TestTrialNeedsNoOwner(t *testing.T) {
	r := release{Version: "1.2.3", trial: true, Repository: "https://codex-bridge.example"}
	t.Chdir(t.TempDir())
	write(t, ownerFile, "maintainer = \"\"\nnpm = \"\"\n")
	if err := r.prepare(); err != nil || r.owner != trialOwner {
		t.Errorf("%+v, %v", r.owner, err)
	}
	write(t, ownerFile, "npn = \"\"\n")
	if err := r.prepare(); err == nil || !strings.Contains(err.Error(), "unknown key npn") {
		t.Error(err)
	}
}

func TestActionsArePinned(t *testing.T) {
	t.Chdir("..")
	if problems := actionProblems(); problems != nil {
		t.Error(strings.Join(problems, "\n"))
	}
}

// A fake npm prints its arguments. The real one needs a registry that knows the workflow.
func TestPublishBeginsWithPrograms(t *testing.T) {
	r := newRelease(t)
	r.owner.NPM = "@owner/codex-bridge"
	if err := r.npm(); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	write(t, filepath.Join(bin, "npm"), `#!/bin/sh
case "$1 $2" in
"view @owner/codex-bridge-linux-x64@1.2.3-rc.1") echo 1.2.3-rc.1 ;;
publish*) for last; do :; done; echo "$2 $3 $4 $5 $6 ${last##*/}" ;;
esac
`)
	if err := os.Chmod(filepath.Join(bin, "npm"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "packaging/npm/publish.sh", filepath.Join(r.dist, "npm"), "1.2.3-rc.1")
	cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "NPM_TOKEN=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	const flags = "--provenance --access public --tag next "
	if len(lines) != 7 || lines[6] != flags+"owner-codex-bridge-1.2.3-rc.1.tgz" || lines[0] != flags+"owner-codex-bridge-darwin-arm64-1.2.3-rc.1.tgz" ||
		!strings.Contains(string(out), "@owner/codex-bridge-linux-x64@1.2.3-rc.1 is already published") {
		t.Errorf("%s", out)
	}
}
