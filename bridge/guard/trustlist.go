package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/toml"
)

// trustListFile is the list of the projects that the user trusts, in Codex's own folder: it is kept, copied
// and lost together with the trust that it limits.
//
// Measured with Codex 0.169: a thread/start with a writable sandbox writes trust_level = "trusted" into the
// user's config.toml, where it looks as if the user had written it. So before the bridge lets Codex do that,
// it lists the projects that are trusted until then. Afterwards only these count, and what the user adds.
const trustListFile = "codex-bridge-trust.toml"

const trustListHead = `# Projects whose own .codex configuration counts under policy.project_trust = "user" of codex-bridge.
# Codex trusts projects by itself when it opens threads. codex-bridge wrote this list before it let Codex do
# that. A project that only config.toml trusts does not count. If you trust it, add its folder here.
trusted = [
`

// TrustList is the list of the projects that the user trusts.
type TrustList struct {
	File    string // "" if there is no list: then all projects that config.toml trusts count
	Trusted []string
	Err     error // the list can't be read: then no project counts
}

// Counts reports whether a project that config.toml trusts counts.
func (l TrustList) Counts(project string) bool {
	return l.File == "" || slices.ContainsFunc(l.Trusted, func(folder string) bool { return policy.TrustKey(filepath.Clean(folder)) == policy.TrustKey(project) })
}

// ReadTrustList reads the list in Codex's own folder.
func ReadTrustList(codexHome string) TrustList {
	list := TrustList{File: filepath.Join(codexHome, trustListFile)}
	if codexHome == "" {
		return TrustList{}
	}
	text, err := os.ReadFile(list.File)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(list.File); errors.Is(err, fs.ErrNotExist) {
			return TrustList{}
		}
	}
	var read struct {
		Trusted []string `toml:"trusted"`
	}
	if err == nil {
		err = toml.Decode(string(text), &read)
	}
	if err != nil {
		list.Err = fmt.Errorf("%s can't be read, so no project counts as trusted: %w; correct the file", list.File, err)
		return list
	}
	list.Trusted = read.Trusted
	return list
}

// TrustedProjects returns the projects that config.toml in Codex's own folder trusts, sorted. It returns none if the
// file can't be read.
func TrustedProjects(codexHome string) (projects []string) {
	read, _ := readCodexConfig(filepath.Join(codexHome, "config.toml"))
	for project, entry := range read.Projects {
		if entry.TrustLevel == "trusted" {
			projects = append(projects, project)
		}
	}
	slices.Sort(projects)
	return projects
}

// LetsCodexTrust reports whether Codex trusts projects by itself under a policy: if the policy is not
// enforced, or leaves it to Codex. Without a policy the bridge does not watch.
func LetsCodexTrust(p *policy.Policy) bool {
	return p.Mode() == config.Audit || p.Mode() == config.Enforce && p.TrustsAsCodex()
}

// WriteTrustList writes the list unless there is one. Call it before a Codex of c starts, or before the policy
// of a running one changes, if LetsCodexTrust says so. On an error Codex must not start.
func WriteTrustList(c config.Codex) error {
	world := WorldOf(c)
	if world.CodexHome == "" {
		return nil // Codex does not start either
	}
	if _, err := os.Stat(world.CodexHome); errors.Is(err, fs.ErrNotExist) {
		if namesCodexHome(codex.Environ(os.Environ(), c.Env, c.EnvRemove)) {
			return nil // Codex does not start with a folder that is missing
		}
		if err := os.MkdirAll(world.CodexHome, 0o700); err != nil {
			return trustListError(err)
		}
	}
	text := trustListHead
	for _, project := range TrustedProjects(world.CodexHome) {
		quoted, err := json.Marshal(project) // a TOML string, too
		if err != nil {
			return trustListError(err)
		}
		text += "    " + string(quoted) + ",\n"
	}
	return trustListError(createSynced(filepath.Join(world.CodexHome, trustListFile), text+"]\n"))
}

func trustListError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the list of trusted projects can't be written, so trust that Codex stores would count as yours: %w; make Codex's own folder writable", err)
}

// namesCodexHome reports whether CODEX_HOME is set.
func namesCodexHome(env []string) bool {
	return slices.ContainsFunc(env, func(pair string) bool {
		_, value, _ := strings.Cut(pair, "=")
		return isVariable(pair, "CODEX_HOME") && value != ""
	})
}

// createSynced creates a file unless it exists, so that a loss of power can't undo it. A file that is written
// in part trusts fewer projects.
func createSynced(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	_ = folder.Sync() // fails on Windows, which can't sync folders
	return folder.Close()
}
