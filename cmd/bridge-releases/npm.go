package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex"
)

var stable = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// stableVersions returns the releases on npm without previews, the oldest first.
func stableVersions(ctx context.Context) ([]string, error) {
	text, err := exec.CommandContext(ctx, "npm", "view", "@openai/codex", "versions", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("npm view: %w", err)
	}
	return parseVersions(text)
}

// parseVersions reads the output of npm view.
func parseVersions(text []byte) ([]string, error) {
	var all []string
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("npm view: %w", err)
	}
	all = slices.DeleteFunc(all, func(version string) bool { return !stable.MatchString(version) })
	slices.SortFunc(all, codex.CompareVersions)
	return all, nil
}

// choose returns the release to move to from another, and those between them. Without a wanted release it is the newest
// one, or "" if none is newer.
func choose(versions []string, from, wanted string) (to string, skipped []string, err error) {
	newer := slices.DeleteFunc(slices.Clone(versions), func(version string) bool { return codex.CompareVersions(version, from) <= 0 })
	if wanted == "" && len(newer) == 0 {
		return "", nil, nil
	}
	at := len(newer) - 1
	if wanted != "" {
		if at = slices.Index(newer, wanted); at < 0 {
			return "", nil, fmt.Errorf("npm has no stable release %q after %s", wanted, from)
		}
	}
	return newer[at], newer[:at], nil
}

// installed is a release of Codex in a folder of its own.
type installed struct {
	version string
	folder  string
	native  string // the program
}

func (r *installed) remove() { os.RemoveAll(r.folder) }

// install installs a release below the folder .tools: the bridge starts no program in a temporary folder.
func install(ctx context.Context, root, version string) (*installed, error) {
	tools := filepath.Join(root, ".tools")
	if err := os.MkdirAll(tools, 0o755); err != nil { //nolint:gosec // as others make it
		return nil, err
	}
	folder, err := os.MkdirTemp(tools, "codex-release-")
	if err != nil {
		return nil, err
	}
	r := &installed{version: version, folder: folder}
	if r.native, err = installIn(ctx, folder, version); err != nil {
		r.remove()
		return nil, err
	}
	return r, nil
}

func installIn(ctx context.Context, folder, version string) (native string, err error) {
	if _, err := output(ctx, folder, "npm", "install", "--prefix", folder, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "@openai/codex@"+version); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(folder, "node_modules", "@openai", "codex-*", "vendor", "*", "*", "codex"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the package has %d programs", len(found))
	}
	return found[0], nil
}

// npmFolder has the packages that the tests use.
const npmFolder = "testdata/npm"

// pinLine finds the pinned Codex in package.json.
var pinLine = regexp.MustCompile(`("@openai/codex": ")\d[^"]*(")`)

// pin sets the Codex of the tests in package.json and in the lock file. npm works in another folder: it would say in
// node_modules that the packages are as in the new lock file.
func pin(ctx context.Context, root, version string) error {
	work, err := os.MkdirTemp("", "codex-pin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	files := []string{"package.json", "package-lock.json"}
	for _, name := range files {
		if err := copyFile(filepath.Join(root, npmFolder, name), filepath.Join(work, name)); err != nil {
			return err
		}
	}
	if err := edit(filepath.Join(work, files[0]), func(text string) (string, error) { return pinned(text, version) }); err != nil {
		return err
	}
	if _, err := output(ctx, work, "npm", "install", "--package-lock-only", "--omit-lockfile-registry-resolved", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return err
	}
	lock, err := os.ReadFile(filepath.Join(work, files[1]))
	if err != nil {
		return err
	}
	if err := checkLock(string(lock), version); err != nil {
		return err
	}
	for _, name := range files {
		if err := copyFile(filepath.Join(work, name), filepath.Join(root, npmFolder, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

// setup installs the packages, and checks that they have the release.
func setup(ctx context.Context, root, version string) error {
	if _, err := output(ctx, root, "make", "setup"); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, npmFolder, "node_modules", "@openai", "codex", "package.json"))
	if err != nil {
		return err
	}
	var is struct{ Version string }
	if err := json.Unmarshal(text, &is); err != nil {
		return err
	}
	if is.Version != version {
		return fmt.Errorf("%s has Codex %s, and not %s", npmFolder, is.Version, version)
	}
	return nil
}

func pinned(text, version string) (string, error) {
	if len(pinLine.FindAllString(text, -1)) != 1 {
		return "", errors.New("package.json has no pinned @openai/codex")
	}
	return pinLine.ReplaceAllString(text, "${1}"+version+"${2}"), nil
}

// checkLock returns an error if a lock file lacks the release, or names the registry: machines have different ones.
func checkLock(text, version string) error {
	var lock struct {
		Packages map[string]struct{ Version, Resolved string }
	}
	if err := json.Unmarshal([]byte(text), &lock); err != nil {
		return err
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" {
			return fmt.Errorf("package-lock.json: %s has the address of a registry; remove it", name)
		}
	}
	if is := lock.Packages["node_modules/@openai/codex"].Version; is != version {
		return fmt.Errorf("package-lock.json has @openai/codex %s, and not %s", is, version)
	}
	return nil
}

// output runs a program in a folder, and returns its standard output. The error has the end of all that it prints.
func output(ctx context.Context, folder, name string, args ...string) (string, error) {
	var out, all bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, io.MultiWriter(&out, &all), &all
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, tail(all.String()))
	}
	return out.String(), nil
}

// tail returns the end of a text.
func tail(text string) string {
	const lines = 40
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// edit changes the text of a file.
func edit(path string, change func(text string) (string, error)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	next, err := change(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(next), 0o644)
}
