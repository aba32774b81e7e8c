package main

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"codex-bridge.example/bridge/toml"
)

// Public keys that users check a release with. The secret keys are not in the repository.
const (
	ownerFile     = "packaging/owner.toml"
	publicKey     = "packaging/codex-bridge.pub"     // of minisign, for the checksums
	packagePublic = "packaging/codex-bridge.asc"     // of OpenPGP, for deb and rpm
	apkPublic     = "packaging/codex-bridge.rsa.pub" // of RSA, for apk
)

// owner has the values of owner.toml.
type owner struct {
	Maintainer string `toml:"maintainer"`
	NPM        string `toml:"npm"`
}

// trialOwner replaces missing values in a trial.
var trialOwner = owner{Maintainer: "codex-bridge <noreply@codex-bridge.example>", NPM: name}

// readOwner sets the owner's values.
func (r *release) readOwner() error {
	text, err := os.ReadFile(ownerFile)
	if err != nil {
		return err
	}
	keys, err := toml.Values(string(text))
	if err == nil {
		err = toml.Decode(string(text), &r.owner)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", ownerFile, err)
	}
	for key := range keys {
		if key != "maintainer" && key != "npm" {
			return fmt.Errorf("%s: unknown key %s: use maintainer or npm", ownerFile, key)
		}
	}
	if r.trial {
		r.owner.Maintainer = cmp.Or(r.owner.Maintainer, trialOwner.Maintainer)
		r.owner.NPM = cmp.Or(r.owner.NPM, trialOwner.NPM)
	}
	return nil
}

// check returns an error that names each value that a person has to set before a release.
func (r *release) check() error {
	problems := slices.Concat(r.addressProblems(), r.ownerProblems(), r.keyProblems(), r.changelogProblems(), actionProblems())
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("a release needs these values first (packaging/README.md, \"Before the first release\"):\n  %s", strings.Join(problems, "\n  "))
}

// addressProblems checks the module path, the repository and the addresses in the VS Code extension.
func (r *release) addressProblems() (problems []string) {
	module, err := os.ReadFile("go.mod")
	if path := firstMatch(`(?m)^module (\S+)$`, module); err != nil || isPlaceholder(path) || !strings.Contains(path, "/") {
		problems = append(problems, fmt.Sprintf("go.mod: the module path %q is a placeholder. Run make module MODULE=host/owner/codex-bridge", path))
	}
	address, err := url.Parse(r.Repository)
	if err != nil || address.Scheme != "https" || isPlaceholder(address.Host) || strings.Count(strings.Trim(address.Path, "/"), "/") == 0 {
		problems = append(problems, fmt.Sprintf("REPOSITORY: %q is not the address of a repository. Set the module path, or REPOSITORY=https://host/owner/codex-bridge", r.Repository))
	}
	manifest := "editors/vscode/package.json"
	text, err := os.ReadFile(filepath.FromSlash(manifest))
	if err != nil {
		return append(problems, fmt.Sprintf("%s: %v", manifest, err))
	}
	for _, found := range regexp.MustCompile(`https://[^"\s]+`).FindAllString(string(text), -1) {
		if address, err := url.Parse(found); err != nil || isPlaceholder(address.Host) {
			return append(problems, fmt.Sprintf("%s: the address %s is a placeholder. Run make module MODULE=host/owner/codex-bridge", manifest, found))
		}
	}
	return problems
}

// isPlaceholder reports whether a name, or the host that a path begins with, is reserved for examples.
func isPlaceholder(path string) bool {
	host, _, _ := strings.Cut(path, "/")
	labels := strings.Split(strings.ToLower(host), ".")
	last := labels[len(labels)-1]
	return host == "" || slices.Contains([]string{"example", "invalid", "test", "localhost"}, last) ||
		len(labels) > 1 && labels[len(labels)-2] == "example" && slices.Contains([]string{"com", "net", "org"}, last)
}

// ownerProblems checks owner.toml, and that the guide names the npm package.
func (r *release) ownerProblems() (problems []string) {
	address, err := mail.ParseAddress(r.owner.Maintainer)
	if err != nil || address.Name == "" || isPlaceholder(address.Address[strings.LastIndex(address.Address, "@")+1:]) {
		problems = append(problems, fmt.Sprintf("%s: maintainer %q is not a name with an address. Write it as Name <address>", ownerFile, r.owner.Maintainer))
	}
	if !regexp.MustCompile(`^(@[a-z0-9-]+/)?codex-bridge$`).MatchString(r.owner.NPM) {
		return append(problems, fmt.Sprintf("%s: npm %q is not the name of your package. Use codex-bridge or @scope/codex-bridge", ownerFile, r.owner.NPM))
	}
	guide, command := "docs/guides/install.md", "npm install -g "+r.owner.NPM+"\n"
	if text, err := os.ReadFile(filepath.FromSlash(guide)); err != nil || !strings.Contains(string(text), command) {
		problems = append(problems, fmt.Sprintf("%s: it lacks %q, the package of %s. Correct the name there", guide, strings.TrimSpace(command), ownerFile))
	}
	return problems
}

// keyProblems checks the public keys in the tree, and when something is built, that each has its secret key.
func (r *release) keyProblems() (problems []string) {
	text, err := os.ReadFile(publicKey)
	if err != nil || !isMinisignKey(string(text)) {
		problems = append(problems, publicKey+": the public key of minisign is missing. Make a key pair, and commit the public one")
	}
	if r.checkOnly {
		return problems
	}
	if r.key == "" {
		problems = append(problems, "MINISIGN_KEY: no secret key is given, so users can't check the release. Set it to the file with the secret key")
	}
	for _, pair := range []struct{ variable, secret, public string }{
		{"PACKAGE_KEY", r.packageKey, packagePublic}, {"APK_KEY", r.apkKey, apkPublic},
	} {
		_, err := os.Stat(pair.public)
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case pair.secret != "" && missing:
			problems = append(problems, fmt.Sprintf("%s: the public key for %s is missing. Commit it", pair.public, pair.variable))
		case pair.secret == "" && !missing:
			problems = append(problems, fmt.Sprintf("%s: no secret key is given for %s. Set the variable, or remove the public key", pair.variable, pair.public))
		}
	}
	return problems
}

// isMinisignKey reports whether the text is that of a public key: a comment, and 42 bytes that name the algorithm first.
func isMinisignKey(text string) bool {
	comment, line, _ := strings.Cut(strings.TrimSpace(text), "\n")
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
	return err == nil && len(key) == 42 && string(key[:2]) == "Ed" && strings.HasPrefix(comment, "untrusted comment:")
}

// changelogProblems checks that the newest version has a date. A pre-release has no section of its own.
func (r *release) changelogProblems() []string {
	text, err := os.ReadFile("CHANGELOG.md")
	section := firstMatch(`(?m)^## (.+)$`, text)
	if r.Prerelease != "" || err == nil && regexp.MustCompile(`^\S+ - \d{4}-\d{2}-\d{2}$`).MatchString(section) && (r.Version == "" || strings.HasPrefix(section, r.Version+" ")) {
		return nil
	}
	return []string{fmt.Sprintf("CHANGELOG.md: the first section is %q. Write it as VERSION - YEAR-MONTH-DAY of this release", section)}
}

var (
	actions = regexp.MustCompile(`^\s*(?:- )?uses:\s*(.*)$`)
	pinned  = regexp.MustCompile(`^(\./\S+|[\w.-]+(?:/[\w.-]+)+@[0-9a-f]{40} # v\d+(?:\.\d+)*)$`)
)

// actionProblems names each action of a workflow that is not pinned by the hash of a commit, with its version in a
// comment. A tag can be moved to other code after it was read.
func actionProblems() (problems []string) {
	files, err := filepath.Glob(".github/workflows/*.y*ml")
	if err != nil || len(files) == 0 {
		return []string{".github/workflows: there is no workflow"}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for i, line := range strings.Split(string(text), "\n") {
			if use := actions.FindStringSubmatch(line); use != nil && !pinned.MatchString(strings.TrimSpace(use[1])) {
				problems = append(problems, fmt.Sprintf("%s:%d: %s is not pinned. Write it as owner/name@COMMIT # vVERSION", filepath.ToSlash(file), i+1, use[1]))
			}
		}
	}
	return problems
}

// firstMatch returns the first group of a pattern, or "".
func firstMatch(pattern string, text []byte) string {
	if found := regexp.MustCompile(pattern).FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}
