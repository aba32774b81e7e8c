package guard

import (
	"os"
	"path/filepath"
	"slices"

	"codex-bridge.example/bridge/policy"
)

// placesOf returns a path, its target and the links between. A link counts with its folder, because
// a process that can write the folder can change the link.
func placesOf(path string) []string {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	var out []string
	if folder, err := (filesystem{}).Canonical(filepath.Dir(path)); err == nil {
		out = append(out, filepath.Join(folder, filepath.Base(path)))
	}
	at, links := followLinks(path)
	if at != "" {
		out = append(out, at)
	}
	return append(out, links...)
}

// linkTargets returns the targets of links in Codex's own folder and in its folder of rules, and
// the links behind them. Users keep such files in a repository.
func linkTargets(codexHome string) []string {
	if codexHome == "" {
		return nil
	}
	var out []string
	for _, folder := range []string{codexHome, filepath.Join(codexHome, "rules")} {
		entries, _ := os.ReadDir(folder)
		for _, entry := range entries {
			if entry.IsDir() || entry.Type().IsRegular() {
				continue
			}
			at, links := followLinks(filepath.Join(folder, entry.Name()))
			for _, path := range append(links, at) {
				if path != "" && !policy.Within(codexHome, path) && !slices.Contains(out, path) {
					out = append(out, path)
				}
			}
		}
	}
	return out
}

// appendPlaces adds the places of a path, "" for none, that the list lacks.
func appendPlaces(list []policy.SensitivePath, name, path, hint string) []policy.SensitivePath {
	if path == "" {
		return list
	}
	for _, at := range placesOf(path) {
		if !slices.ContainsFunc(list, func(p policy.SensitivePath) bool { return p.Path == at }) {
			list = append(list, policy.SensitivePath{Name: name, Path: at, Hint: hint})
		}
	}
	return list
}

// followLinks returns the target of an absolute path and the links on the way, each with its
// canonical folder. For a link whose target is missing it returns that target. end is "" if it
// can't be found, as in a loop of links.
func followLinks(path string) (end string, links []string) {
	at, rest := filepath.VolumeName(path)+string(filepath.Separator), pathNames(path)
	for len(rest) > 0 {
		if len(links) == maxLinks {
			return "", links
		}
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil { // not a link
			at = next
			continue
		}
		if folder, err := (filesystem{}).Canonical(at); err == nil {
			links = append(links, filepath.Join(folder, name))
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
		}
		rest = append(pathNames(target), rest...)
	}
	end, _ = filesystem{}.Canonical(at)
	return end, links
}
