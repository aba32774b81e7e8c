package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

// neovim writes the plugin for Neovim as the tree of a repository that plugin managers install: lua, plugin and
// doc at its root.
func (r *release) neovim() error {
	to := filepath.Join(r.dist, "codex-bridge.nvim")
	source := filepath.Join("editors", "nvim")
	err := os.MkdirAll(to, 0o750)
	for _, folder := range []string{"lua", "plugin", "doc"} {
		err = errors.Join(err, os.CopyFS(filepath.Join(to, folder), os.DirFS(filepath.Join(source, folder))))
	}
	err = errors.Join(err, os.RemoveAll(filepath.Join(to, "doc", "tags"))) // of :helptags in a work tree
	for _, file := range []string{"LICENSE", "NOTICE"} {
		text, failed := os.ReadFile(file)
		err = errors.Join(err, failed, os.WriteFile(filepath.Join(to, file), text, 0o644))
	}
	readme, failed := os.ReadFile(filepath.Join(source, "README.md"))
	// Links to the rest of the repository.
	readme = bytes.ReplaceAll(readme, []byte("](../../"), []byte("]("+r.Repository+"/blob/v"+r.Version+"/"))
	return errors.Join(err, failed, os.WriteFile(filepath.Join(to, "README.md"), readme, 0o644))
}
