//go:build linux && amd64

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// slower is a change that does something twice: the plain part of each text is looked at
// once more.
var slower = struct{ file, was, is string }{
	"rpc/parse.go", "p.pos += plain(b[p.pos:])", "p.pos += min(plain(b[p.pos:]), plain(b[p.pos:]))",
}

func TestSlowerIsFound(t *testing.T) {
	const name = "parse a turn/start"
	dir := t.TempDir()
	file, err := filepath.Abs(filepath.Join(root, slower.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), slower.was, slower.is, 1)
	if changed == string(text) {
		t.Fatalf("%s has no %s any more: choose another line", slower.file, slower.was)
	}
	instead, overlay := filepath.Join(dir, "slower.go"), filepath.Join(dir, "overlay.json")
	places, err := json.Marshal(map[string]any{"Replace": map[string]string{file: instead}})
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{instead: []byte(changed), overlay: places} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	before, err := readRecord(filepath.Join(root, recorded))
	if err != nil {
		t.Fatal(err)
	}
	p, err := build(root, dir, before.Go, paths, "-overlay="+overlay)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.count(name)
	if err != nil {
		t.Fatal(err)
	}
	before.Steps = map[string]int64{name: before.Steps[name]}
	err = before.compare(record{Steps: map[string]int64{name: c.steps()}})
	if err == nil || !strings.Contains(err.Error(), `"`+name+`" takes `) || strings.Contains(err.Error(), "keep it so") {
		t.Errorf("a slower parser was not found: %v", err)
	}
}
