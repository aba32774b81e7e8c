package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// try.sh makes real artifacts and installs them. These tests take no time, and so every change has them.

func newRelease(t *testing.T) *release {
	t.Helper()
	t.Chdir("..")
	r := &release{
		Commit: "abc", Date: time.Unix(1700000000, 0).UTC(), Repository: "https://host.example/owner/codex-bridge",
		owner: trialOwner, dist: t.TempDir(), work: t.TempDir(),
	}
	if err := r.setVersion("1.2.3-rc.1"); err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			r.targets = append(r.targets, target{system, arch})
		}
	}
	for _, x := range r.targets {
		write(t, r.program(x), "program of "+x.String())
	}
	for _, file := range []string{licenseFile, "codex-bridge.1", "codex-bridge.bash", "codex-bridge.fish", "_codex-bridge"} {
		write(t, filepath.Join(r.work, file), file)
	}
	return r
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestManifestsNameArchives(t *testing.T) {
	r := newRelease(t)
	if err := errors.Join(r.archives(), r.checksums(), r.manifests()); err != nil {
		t.Fatal(err)
	}
	sums := read(t, filepath.Join(r.dist, checksumFile))
	for file, want := range map[string][]target{
		"homebrew/codex-bridge.rb": {{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}},
		"scoop/codex-bridge.json":  {{"windows", "amd64"}, {"windows", "arm64"}},
		"aur/PKGBUILD":             {{"linux", "amd64"}, {"linux", "arm64"}},
		"aur/.SRCINFO":             {{"linux", "amd64"}, {"linux", "arm64"}},
	} {
		text := read(t, filepath.Join(r.dist, file))
		for _, x := range want {
			sum, err := hash(filepath.Join(r.dist, r.archive(x)))
			if err != nil {
				t.Fatal(err)
			}
			url := "https://host.example/owner/codex-bridge/releases/download/v1.2.3-rc.1/" + r.archive(x)
			if !strings.Contains(text, url) || !strings.Contains(text, sum) || !strings.Contains(sums, sum+"  "+r.archive(x)+"\n") {
				t.Errorf("%s lacks %s with its hash:\n%s", file, url, text)
			}
		}
	}
	if text := read(t, filepath.Join(r.dist, "scoop/codex-bridge.json")); !json.Valid([]byte(text)) {
		t.Errorf("not JSON:\n%s", text)
	}
	if text := read(t, filepath.Join(r.dist, "aur/PKGBUILD")); !strings.Contains(text, "\npkgver=1.2.3rc1\n") {
		t.Errorf("pacman would not take 1.2.3 for an update:\n%s", text)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]release{
		"1.2.3": {Version: "1.2.3", Number: "1.2.3"}, "v1.2.3": {Version: "1.2.3", Number: "1.2.3"},
		"v1.2.3-rc.10":  {Version: "1.2.3-rc.10", Number: "1.2.3", Prerelease: "rc10"},
		"10.0.3-beta.0": {Version: "10.0.3-beta.0", Number: "10.0.3", Prerelease: "beta0"},
	} {
		var got release
		if err := got.setVersion(version); err != nil || got.Version != want.Version || got.Number != want.Number || got.Prerelease != want.Prerelease {
			t.Errorf("%s: %+v, %v", version, got, err)
		}
	}
	for _, version := range []string{"", "dev", "1.2", "1.2.3-dirty", "1.2.3-rc", "1.2.3-try.1", "1.2.3-4-gabcdef0", "1.2.3-rc.1.2", "1.2.3-rc1", "1.2.3-rc.01", "01.2.3"} {
		if err := new(release).setVersion(version); err == nil {
			t.Errorf("%q is accepted", version)
		}
	}
}

func TestNamesOfPackagesAreThoseOfDownloads(t *testing.T) {
	r := &release{dist: t.TempDir()}
	for _, file := range []string{"codex-bridge_1.2.3~rc1_amd64.deb", "codex-bridge-1.2.3~rc1-1.x86_64.rpm", "codex-bridge_1.2.3_rc1_x86_64.apk"} {
		write(t, filepath.Join(r.dist, file), file)
	}
	if err := errors.Join(r.renamePackages(), r.checksums()); err != nil {
		t.Fatal(err)
	}
	sums := read(t, filepath.Join(r.dist, checksumFile))
	for _, file := range []string{"codex-bridge_1.2.3.rc1_amd64.deb", "codex-bridge-1.2.3.rc1-1.x86_64.rpm", "codex-bridge_1.2.3_rc1_x86_64.apk"} {
		if _, err := os.Stat(filepath.Join(r.dist, file)); err != nil || !strings.Contains(sums, "  "+file+"\n") {
			t.Errorf("%s: %v; the checksums are\n%s", file, err, sums)
		}
	}
}

func TestArchiveBytesDependOnContents(t *testing.T) {
	r := newRelease(t)
	sums := func() string {
		if err := errors.Join(r.archives(), r.npm()); err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		files, _ := filepath.Glob(filepath.Join(r.dist, "*.*"))
		packed, _ := filepath.Glob(filepath.Join(r.dist, "npm/*"))
		if len(files) != 6 || len(packed) != 7 {
			t.Fatal(files, packed)
		}
		for _, file := range append(files, packed...) {
			sum, err := hash(file)
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString(sum + " " + filepath.Base(file) + "\n")
		}
		return all.String()
	}
	first := sums()
	r.dist = t.TempDir()
	if second := sums(); second != first {
		t.Errorf("%s\n%s", first, second)
	}
}

func TestLauncherDependsOnEachPlatform(t *testing.T) {
	for npm, file := range map[string]string{"codex-bridge": "codex-bridge", "@owner/codex-bridge": "owner-codex-bridge"} {
		t.Run(npm, func(t *testing.T) { launcherDependsOnEachPlatform(t, npm, file) })
	}
}

func launcherDependsOnEachPlatform(t *testing.T, npm, file string) {
	r := newRelease(t)
	r.owner.NPM = npm
	if err := r.npm(); err != nil {
		t.Fatal(err)
	}
	var launcher npmPackage
	unpack(t, filepath.Join(r.dist, "npm", file+"-1.2.3-rc.1.tgz"), &launcher)
	if len(launcher.OptionalDependencies) != len(r.targets) {
		t.Errorf("%v", launcher.OptionalDependencies)
	}
	for name, version := range launcher.OptionalDependencies {
		var platform npmPackage
		modes := unpack(t, filepath.Join(r.dist, "npm", file+strings.TrimPrefix(name, npm)+"-"+version+".tgz"), &platform)
		program := "package/bin/codex-bridge"
		if strings.Contains(name, "win32") {
			program += ".exe"
		}
		if platform.Name != name || name != npm+"-"+platform.OS[0]+"-"+platform.CPU[0] || modes[program] != 0o755 {
			t.Errorf("%s: %+v, %v", name, platform, modes)
		}
	}
}

func TestNeovimPluginIsARepository(t *testing.T) {
	r := newRelease(t)
	if err := r.neovim(); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(r.dist, "codex-bridge.nvim")
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if got := strings.Join(names, " "); got != "LICENSE NOTICE README.md doc lua plugin" {
		t.Errorf("the folder has %s", got)
	}
	for _, file := range []string{"lua/codex-bridge/init.lua", "plugin/codex-bridge.lua", "doc/codex-bridge.txt", "LICENSE"} {
		source := filepath.Join("editors", "nvim", file)
		if file == "LICENSE" {
			source = file
		}
		if read(t, filepath.Join(folder, file)) != read(t, source) {
			t.Errorf("%s is another file", file)
		}
	}
	if readme := read(t, filepath.Join(folder, "README.md")); strings.Contains(readme, "../") || !strings.Contains(readme, "](https://host.example/owner/codex-bridge/blob/v1.2.3-rc.1/README.md") {
		t.Errorf("the README links to files that are not there:\n%s", readme)
	}
}

// unpack reads the package.json of a tarball, and returns the modes of its files.
func unpack(t *testing.T, file string, p *npmPackage) map[string]int64 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	compressed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	modes := make(map[string]int64)
	for r := tar.NewReader(compressed); ; {
		header, err := r.Next()
		if err == io.EOF {
			return modes
		} else if err != nil {
			t.Fatal(err)
		}
		modes[header.Name] = header.Mode
		if header.Name == "package/package.json" {
			if err := json.NewDecoder(r).Decode(p); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestModuleWithoutLicenseIsAnError(t *testing.T) {
	r := &release{work: t.TempDir()}
	err := r.writeLicenses(map[string]map[string]string{"a.example v1.0.0": {"LICENSE": "text"}, "b.example v1.0.0": {}})
	if err == nil || !strings.Contains(err.Error(), "b.example") {
		t.Error(err)
	}
	for name, want := range map[string]bool{
		"LICENSE": true, "LICENSE.txt": true, "License-MIT": true, "SQLITE-LICENSE": true, "COPYING": true, "NOTICE.md": true, "LICENCE": true,
		"license.go": false, "README.md": false, "notices_test": false,
	} {
		if got := isLicense(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
