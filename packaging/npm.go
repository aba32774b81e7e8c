package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed npm/launcher.js
var launcher []byte

//go:embed npm/README.md
var npmReadme string

// npmPackage is a package.json. The order of the fields is that of the file.
type npmPackage struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Homepage             string            `json:"homepage"`
	Repository           map[string]string `json:"repository"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"` // Yarn unpacks a package with a program
	Files                []string          `json:"files"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// npm writes the packages for npm: one with the launcher, and one for each target with its program. npm
// installs the one whose os and cpu match, so no script downloads anything.
func (r *release) npm() error {
	folder := filepath.Join(r.dist, "npm")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	first := r.npmPackage(r.owner.NPM)
	first.Bin = map[string]string{name: "bin/codex-bridge.js"}
	first.Engines = map[string]string{"node": ">=18"}
	first.Files = []string{"bin"}
	first.OptionalDependencies = make(map[string]string)
	for _, t := range r.targets {
		system, cpu := nodeNames(t)
		p := r.npmPackage(fmt.Sprintf("%s-%s-%s", r.owner.NPM, system, cpu))
		p.Description = fmt.Sprintf("The program of codex-bridge for %s on %s", system, cpu)
		p.OS, p.CPU, p.PreferUnplugged, p.Files = []string{system}, []string{cpu}, true, []string{"bin", licenseFile}
		first.OptionalDependencies[p.Name] = r.Version
		program, err := os.ReadFile(r.program(t))
		if err != nil {
			return err
		}
		licenses, err := os.ReadFile(filepath.Join(r.work, licenseFile))
		if err != nil {
			return err
		}
		readme := fmt.Sprintf("# %s\n\n%s. Install [%s](%s), which depends on it.\n", p.Name, p.Description, r.owner.NPM, r.Repository)
		if err := r.pack(folder, p,
			entry{name: "bin/" + t.exe(), executable: true, content: program},
			entry{name: licenseFile, content: licenses},
			entry{name: "README.md", content: []byte(readme)}); err != nil {
			return err
		}
	}
	readme := strings.NewReplacer("REPOSITORY", r.Repository, "install -g codex-bridge", "install -g "+r.owner.NPM).Replace(npmReadme)
	return r.pack(folder, first,
		entry{name: "bin/codex-bridge.js", executable: true, content: launcher},
		entry{name: "README.md", content: []byte(readme)})
}

// nodeNames returns the names that Node gives the system and the processor.
func nodeNames(t target) (system, cpu string) {
	system, cpu = t.OS, t.Arch
	if system == "windows" {
		system = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	return system, cpu
}

func (r *release) npmPackage(name string) npmPackage {
	return npmPackage{
		Name: name, Version: r.Version, Description: description, License: "Apache-2.0", Homepage: r.Repository,
		Repository: map[string]string{"type": "git", "url": "git+" + r.Repository + ".git"},
	}
}

// pack writes what `npm pack` would: a tarball with the files in the folder package.
func (r *release) pack(folder string, p npmPackage, entries ...entry) error {
	var manifest bytes.Buffer
	enc := json.NewEncoder(&manifest)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return err
	}
	entries = append(entries, entry{name: "package.json", content: manifest.Bytes()})
	for _, file := range []string{"LICENSE", "NOTICE"} {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: file, content: content})
	}
	for i := range entries {
		entries[i].name = "package/" + entries[i].name
	}
	file := strings.NewReplacer("@", "", "/", "-").Replace(p.Name) + "-" + p.Version + ".tgz"
	return tarball(filepath.Join(folder, file), r.Date, entries)
}
