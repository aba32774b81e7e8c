package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"codex-bridge.example/bridge/config"
)

// configuredPrograms returns the files that commands of the configuration name: those with absolute
// paths, those relative to the bridge's folder, in which tool servers and agents start, and the names
// relative to a thread's folder, in which handlers and tools run. These programs and scripts run outside
// the sandbox.
func configuredPrograms(cfg *config.Config) (files, scripts []string) {
	add := func(path string) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	each := func(command []string, relative func(name string)) {
		for _, name := range namesIn(command) {
			if filepath.IsAbs(name) {
				add(name)
			} else {
				relative(name)
			}
		}
	}
	inThread := func(name string) { scripts = append(scripts, name) }
	for _, handler := range cfg.Hooks.Handlers {
		each(handler.Command, inThread)
	}
	for _, tool := range cfg.Tools {
		each(tool.Command, inThread)
	}
	atStart := func(name string) {
		if folder := Workspace(); folder != "" {
			add(filepath.Join(folder, name))
		}
	}
	for _, server := range cfg.ToolServers {
		each(server.Command, atStart)
	}
	for _, agent := range cfg.ACP.Agents {
		each(agent.Command, atStart)
	}
	return files, scripts
}

// namesIn returns the names by which a command may find files: its absolute program, which is else
// found on PATH, its other words, and the parts of these, as in --file=NAME or in the text of sh -c.
func namesIn(command []string) (names []string) {
	for i, word := range command {
		if i == 0 {
			if filepath.IsAbs(word) {
				names = append(names, word)
			}
			continue
		}
		parts := strings.FieldsFunc(word, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("=\"'`;|&()<>", c) })
		for _, name := range append(parts, word) {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
