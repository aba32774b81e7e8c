package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"

	"github.com/google/go-cmp/cmp"
)

const repository = "../.."

// useInstalledCodex selects the Codex of the npm packages. The test fails if it is missing.
func useInstalledCodex(t *testing.T) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(repository, "testdata", "npm", "node_modules", ".bin", "codex"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; run `make setup`", err)
	}
	t.Setenv(codex.Env, path)
}

// The files match the real Codex and the table.
func TestFilesAreCurrent(t *testing.T) {
	useInstalledCodex(t)
	root := t.TempDir()
	for _, dir := range []string{"bridge/methods", "docs/reference"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(root, false); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"bridge/methods/schema.json", "docs/reference/methods.md", "bridge/methods/shapes.json"} {
		want, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s differs from the output of `make schema` (-):\n%s", name, diff)
		}
	}
}

func TestCheckListsDifferences(t *testing.T) {
	tested, err := release.Tested()
	if err != nil {
		t.Fatal(err)
	}
	p := &release.Release{Features: maps.Clone(tested.Features)}
	p.Version, p.Methods = "1.2.3", map[methods.Side]map[string]release.MethodShape{}
	p.Unread = map[release.Part]string{release.PartFlags: "no script"}
	for _, side := range methods.Sides() {
		p.Methods[side] = make(map[string]release.MethodShape)
		for _, name := range methods.Names(side) {
			p.Methods[side][name] = release.MethodShape{}
		}
	}
	delete(p.Methods[methods.ServerRequest], "item/tool/call")
	p.Methods[methods.ClientRequest]["thread/teleport"] = release.MethodShape{}
	p.Features["hooks"], p.Features["teleport"] = "stable false", "stable true"
	delete(p.Features, "apps")
	err = check(tested, p)
	if err == nil {
		t.Fatal("check found no difference")
	}
	want := []string{
		"the flags of Codex 1.2.3 can't be read: no script",
		"Codex has version 1.2.3; methods.Measured is " + methods.Measured,
		"client request thread/teleport: no row; add one to bridge/methods",
		"server request item/tool/call: Codex 1.2.3 does not have it; write the last release with it into until",
		"feature hooks: it is stable false, and stable true in bridge/methods/features.txt",
		"feature teleport: no row; add one to bridge/methods/features.txt",
		"feature apps: Codex 1.2.3 does not have it; write the last release with it into until",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}
