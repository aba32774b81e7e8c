package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateDependencies = flag.Bool("update-dependencies", false, "write dependencies.txt")

const ownModule = "codex-bridge.example/"

// dependency is a package that the program is linked with.
type dependency struct {
	systems   string
	importers map[string]bool
}

// dependencies returns the packages that are not of this module.
func dependencies(t *testing.T) map[string]*dependency {
	t.Helper()
	all := make(map[string]*dependency)
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports", ".")
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(strings.NewReader(string(out)))
		for {
			var p struct {
				ImportPath string
				Standard   bool
				Imports    []string
			}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Standard { // its own imports change with each release of Go
				continue
			}
			from := strings.TrimPrefix(p.ImportPath, ownModule)
			for _, name := range p.Imports {
				if strings.HasPrefix(name, ownModule) {
					continue
				}
				if all[name] == nil {
					all[name] = &dependency{importers: make(map[string]bool)}
				}
				all[name].importers[from] = true
				if letter := strings.ToUpper(system[:1]); !strings.Contains(all[name].systems, letter) {
					all[name].systems += letter
				}
			}
		}
	}
	return all
}

// dependencies.txt lists what the program is linked with, and why: a change of it is seen in a review.
func TestDependenciesAreCurrent(t *testing.T) {
	const file, shown = "dependencies.txt", 3
	all := dependencies(t)
	var b strings.Builder
	b.WriteString("Packages of other modules in the program, the systems with them (L Linux, D macOS, W Windows),\n" +
		"and the first packages that import them.\n" +
		"Written by: go test ./cmd/codex-bridge -run TestDependenciesAreCurrent -update-dependencies\n\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if module, _, _ := strings.Cut(name, "/"); !strings.Contains(module, ".") {
			continue // of the standard library
		}
		from := slices.Sorted(maps.Keys(all[name].importers))
		if len(from) > shown {
			from = append(from[:shown], "…")
		}
		fmt.Fprintf(&b, "%-3s %s from %s\n", all[name].systems, name, strings.Join(from, ", "))
	}
	if *updateDependencies {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), b.String()); diff != "" {
		t.Errorf("run go test ./cmd/codex-bridge -run TestDependenciesAreCurrent -update-dependencies\n%s", diff)
	}
}

// Some packages make every program larger than what they are used for.
func TestDependenciesAreSmall(t *testing.T) {
	all := dependencies(t)
	for name, why := range map[string]string{
		"text/template":          "it finds methods by name, so the linker keeps all exported methods",
		"html/template":          "it imports text/template",
		"plugin":                 "the linker keeps everything that a plugin could use",
		"net/http/pprof":         "the program has no debug server",
		"google.golang.org/grpc": "the bridge writes OTLP as JSON",
	} {
		if all[name] != nil {
			t.Errorf("%s is imported by %q: %s", name, slices.Sorted(maps.Keys(all[name].importers)), why)
		}
	}
}
