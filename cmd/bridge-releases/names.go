package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
)

// namesFile has the methods of releases, for a test of since and until.
const namesFile = "testdata/schema/methods-by-version.json"

// addNames adds the methods of a release to that file, the newest one last.
func addNames(root string, release *release.Release) error {
	return edit(filepath.Join(root, namesFile), func(text string) (string, error) { return withNames(text, release) })
}

func withNames(text string, release *release.Release) (string, error) {
	var versions map[string]map[string][]string
	if err := json.Unmarshal([]byte(text), &versions); err != nil {
		return "", err
	}
	if versions[release.Version] != nil {
		return text, nil
	}
	body := strings.TrimSpace(text)
	all, ok := strings.CutSuffix(body, "\n}")
	if !ok {
		return "", errors.New("the file does not end with a line }")
	}
	lists := []string{}
	for _, side := range []struct {
		name string
		side methods.Side
	}{{"ClientRequest", methods.ClientRequest}, {"ServerRequest", methods.ServerRequest}, {"ServerNotification", methods.ServerNotification}} {
		names, err := json.MarshalIndent(release.Names(side.side), "", "")
		if err != nil {
			return "", err
		}
		lists = append(lists, fmt.Sprintf("%q: %s", side.name, names))
	}
	return fmt.Sprintf("%s,\n%q: {\n%s\n}\n}%s", all, release.Version, strings.Join(lists, ",\n"), text[len(body):]), nil
}

// rangeFiles are documents that name the range of supported releases: "Codex 0.166 to 0.169".
var rangeFiles = []string{"README.md", "docs/reference/policy.md"}

func supportedRange(newest string) string {
	return "Codex " + minor(config.Default().Codex.MinVersion) + " to " + minor(newest)
}

// minor returns a version without its last number.
func minor(version string) string { return version[:strings.LastIndexByte(version, '.')] }

func moveRanges(root, from, to string) error {
	for _, name := range rangeFiles {
		if err := replace(root, name, supportedRange(from), supportedRange(to)); err != nil {
			return err
		}
	}
	return nil
}

// versionFile tells administrators to install a release.
const versionFile = "docs/guides/team.md"

func moveVersion(root, from, to string) error {
	return errors.Join(
		replace(root, versionFile, "@openai/codex@"+from, "@openai/codex@"+to),
		replace(root, versionFile, `max_version = "`+from+`"`, `max_version = "`+to+`"`))
}

// replace replaces a text of a file, which must have it.
func replace(root, name, from, to string) error {
	return edit(filepath.Join(root, name), func(text string) (string, error) {
		if !strings.Contains(text, from) {
			return "", fmt.Errorf("%q is missing", from)
		}
		return strings.ReplaceAll(text, from, to), nil
	})
}
