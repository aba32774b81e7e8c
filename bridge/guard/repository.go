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
)

// Roots implements policy.Repositories. It is never more generous than codex:
// where codex would see a repository and this doesn't, a trusted project counts
// as an unknown one.
//
// Measured: the nearest .git above a folder is its repository, a folder without
// HEAD is none. A .git file makes the folder a root, too; it belongs to a main
// worktree only when that knows of it, so that a repository can't claim to be
// part of one that the user trusts.
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

// mainWorktree is the root of the main worktree that root is linked to, "" when
// it is linked to none. All three of git's pointers must agree: from root to its
// administrative folder, from there back to root, and on to the repository.
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
		return "", nil //nolint:nilerr // a pointer to nowhere links to nothing
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

// follow is the canonical path that a file of one line names.
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

// from is path, taken from dir when it is relative.
func joinFrom(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + string(filepath.Separator) + path
}

// readPointer reads a small regular file that is no link. More than maxPointer
// names no path.
func readPointer(path string) ([]byte, error) {
	const maxPointer = 64 << 10
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil
	}
	file, err := os.Open(path)
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

// gitDir is the path that a .git file names.
func gitDir(text []byte) (string, bool) {
	to, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte("gitdir:"))
	to = bytes.TrimSpace(to)
	if !ok || len(to) == 0 || bytes.ContainsAny(to, "\n\r\x00") {
		return "", false
	}
	return string(to), true
}

// loadable are the names in a folder that codex loads of a trusted project and
// not of an untrusted one (measured: AGENTS.md is not read there either).
var projectFiles = []string{".codex", "AGENTS.md", "AGENTS.override.md"}

// keptFrom are the things in folder, and in the folders above it up to root, that
// codex would have loaded.
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
