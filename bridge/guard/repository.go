package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"codex-bridge.example/bridge/config"
)

// Roots implements policy.Repositories. If Codex would find a repository and Roots does not, a
// trusted project counts as an unknown one, never the reverse.
//
// Measured: the repository of a folder has the nearest .git above it; a .git folder without HEAD is
// none. A .git file makes its folder a root, too. The folder belongs to a main worktree only if
// that worktree knows it; so a repository can't claim to be part of a trusted one.
func (f filesystem) Roots(folder string) ([]string, error) {
	for at := folder; ; at = filepath.Dir(at) {
		git := filepath.Join(at, ".git")
		info, err := os.Stat(git)
		switch {
		case err == nil && info.IsDir():
			if !isRegular(filepath.Join(git, "HEAD")) {
				return nil, nil
			}
			return []string{at}, nil
		case err == nil && info.Mode().IsRegular():
			main, err := f.mainWorktree(at)
			if err != nil {
				return nil, err
			}
			if main == "" {
				return []string{at}, nil
			}
			return []string{at, main}, nil
		case err == nil:
			return nil, nil // a pipe or a device is no repository, and is not opened
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return nil, err
		}
		if filepath.Dir(at) == at {
			return nil, nil
		}
	}
}

func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// mainWorktree returns the root of the main worktree that root is linked to, or "" if it is linked
// to none. All three pointers of git must agree: from root to its administrative folder, from there
// back to root, and to the repository.
func (f filesystem) mainWorktree(root string) (string, error) {
	pointer := filepath.Join(root, ".git")
	text, err := readPointer(pointer)
	if err != nil {
		return "", err
	}
	to, ok := gitDir(text)
	if !ok {
		return "", nil
	}
	admin, err := f.Canonical(joinFrom(root, to))
	if err != nil || filepath.Base(filepath.Dir(admin)) != "worktrees" {
		return "", nil //nolint:nilerr // an invalid pointer links to nothing
	}
	back, err := f.follow(admin, "gitdir")
	if err != nil || back != pointer {
		return "", nil //nolint:nilerr // the same
	}
	common, err := f.follow(admin, "commondir")
	if err != nil || common != filepath.Dir(filepath.Dir(admin)) || filepath.Base(common) != ".git" {
		return "", nil //nolint:nilerr // the same
	}
	return filepath.Dir(common), nil
}

// follow returns the canonical path in a file of one line.
func (f filesystem) follow(dir, name string) (string, error) {
	text, err := readPointer(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	to := bytes.TrimSpace(text)
	if len(to) == 0 || bytes.ContainsAny(to, "\n\r\x00") {
		return "", fmt.Errorf("%s names no path", filepath.Join(dir, name))
	}
	return f.Canonical(joinFrom(dir, string(to)))
}

// joinFrom returns path, relative to dir if it is not absolute.
func joinFrom(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + string(filepath.Separator) + path
}

// readPointer reads a small regular file that is not a link. It returns nil for any other file.
func readPointer(path string) ([]byte, error) {
	const maxPointer = 64 << 10
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil
	}
	file, err := config.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxPointer+1))
	if err != nil || len(text) > maxPointer {
		return nil, err
	}
	return text, nil
}

// gitDir returns the path in a .git file.
func gitDir(text []byte) (string, bool) {
	to, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte("gitdir:"))
	to = bytes.TrimSpace(to)
	if !ok || len(to) == 0 || bytes.ContainsAny(to, "\n\r\x00") {
		return "", false
	}
	return string(to), true
}

// projectFiles are the names in a folder that Codex loads for a trusted project, and not for an
// untrusted one. Measured: this includes AGENTS.md.
var projectFiles = []string{".codex", "AGENTS.md", "AGENTS.override.md"}

// unloadedFiles returns the projectFiles in folder and the folders above it, up to root.
func unloadedFiles(folder, root string) []string {
	var found []string
	for at := folder; ; at = filepath.Dir(at) {
		for _, name := range projectFiles {
			if _, err := os.Lstat(filepath.Join(at, name)); err == nil {
				found = append(found, filepath.Join(at, name))
			}
		}
		if at == root || filepath.Dir(at) == at {
			return found
		}
	}
}
