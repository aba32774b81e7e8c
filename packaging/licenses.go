package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const licenseFile = "THIRD_PARTY_LICENSES"

var licenseName = regexp.MustCompile(`(?i)^(.*[-_])?(licen[sc]e|copying|notice|patents|authors)([-_.][-_.a-z0-9]*)?$`)

// isLicense reports whether a license asks to pass on a file of this name.
func isLicense(name string) bool {
	return licenseName.MatchString(name) && filepath.Ext(name) != ".go"
}

// linked is a package that `go list` prints.
type linked struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// licenses writes the licenses of all modules that are linked for any target.
func (r *release) licenses() error {
	texts := make(map[string]map[string]string) // by module, then by file
	for _, t := range r.targets {
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module", "./cmd/codex-bridge")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+t.OS, "GOARCH="+t.Arch)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return err
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p linked
			if err := d.Decode(&p); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			if p.Standard || p.Module == nil || p.Module.Main {
				continue
			}
			module := p.Module.Path + " " + p.Module.Version
			if texts[module] == nil {
				texts[module] = make(map[string]string)
			}
			if err := collect(texts[module], p.Dir, p.Module.Dir); err != nil {
				return err
			}
		}
	}
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	standard := "Go standard library"
	texts[standard] = make(map[string]string)
	if err := collect(texts[standard], root, root); err != nil {
		return err
	}
	return r.writeLicenses(texts)
}

// collect adds the license files of a package's folder and of those above it, up to the module's.
func collect(texts map[string]string, folder, module string) error {
	for {
		files, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, f := range files {
			if !f.Type().IsRegular() || !isLicense(f.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, f.Name()))
			if err != nil {
				return err
			}
			name, err := filepath.Rel(module, filepath.Join(folder, f.Name()))
			if err != nil {
				return err
			}
			texts[filepath.ToSlash(name)] = string(text)
		}
		if folder == module || len(folder) < len(module) {
			return nil
		}
		folder = filepath.Dir(folder)
	}
}

func (r *release) writeLicenses(texts map[string]map[string]string) error {
	var b strings.Builder
	b.WriteString("codex-bridge is linked with the Go modules below, which have these licenses.\n")
	for _, module := range slices.Sorted(maps.Keys(texts)) {
		if len(texts[module]) == 0 {
			return fmt.Errorf("%s has no license file", module)
		}
		for _, file := range slices.Sorted(maps.Keys(texts[module])) {
			fmt.Fprintf(&b, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), module, file, strings.TrimSpace(texts[module][file]))
		}
	}
	fmt.Printf("  %d modules\n", len(texts)-1)
	return os.WriteFile(filepath.Join(r.work, licenseFile), []byte(b.String()), 0o644)
}
