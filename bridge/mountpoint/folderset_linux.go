package mountpoint

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
)

// folderSet has the folders of one root that this bridge must remove. It is not safe for concurrent use.
type folderSet struct {
	records records
	log     *slog.Logger
	made    []Folder // that this bridge must remove, or another one that records them
	ended   bool     // Codex has ended, so nothing starts a command
	adopt   bool     // the next apply looks for folders of bridges that were killed
}

// apply creates the held folders, and removes the others unless a command still has one as mount point.
// It returns the empty files that it has removed, and reports whether unheld folders are left.
func (s *folderSet) apply(held []Folder) (removed []string, unheld bool) {
	isUnheld := func(folder Folder) bool { return !slices.ContainsFunc(held, folder.isOrLeadsTo) }
	missing := slices.DeleteFunc(slices.Clone(held), s.isReady)
	if len(missing) == 0 && !slices.ContainsFunc(s.made, isUnheld) && !s.adopt {
		return nil, false
	}
	s.adopt = false
	s.change(func(others map[Folder]bool) {
		for _, folder := range missing {
			removed = append(removed, s.make(folder, others)...)
		}
		s.remove(isUnheld, others)
	})
	return removed, slices.ContainsFunc(s.made, isUnheld)
}

// isReady reports whether a folder, and each one above it, is there and is either in use by
// the user or recorded by this bridge. An empty one may be another bridge's.
func (s *folderSet) isReady(folder Folder) bool {
	root, err := os.OpenRoot(folder.Root)
	if err != nil {
		return true // Codex can't run there
	}
	defer func() { _ = root.Close() }()
	for _, step := range folder.steps() {
		info, err := root.Lstat(step.Name)
		switch {
		case err != nil:
			return !errors.Is(err, fs.ErrNotExist)
		case !info.IsDir():
			return !isLeftOver(info)
		case !slices.Contains(s.made, step) && isEmpty(root, step.Name):
			return false
		}
	}
	return true
}

// make creates a folder and those above it. It returns the empty files that were in place of
// one of them.
func (s *folderSet) make(folder Folder, others map[Folder]bool) (removed []string) {
	root, err := os.OpenRoot(folder.Root)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	for _, step := range folder.steps() {
		info, err := root.Lstat(step.Name)
		if err == nil && isLeftOver(info) && !readMounts().include(step.path()) {
			if err = root.Remove(step.Name); err == nil {
				removed = append(removed, step.path())
				err = fs.ErrNotExist
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.record(step) // before it exists: this process may be killed
			if err := root.Mkdir(step.Name, 0o755); err != nil {
				s.log.Warn("can't create a mount point; Codex protects the path by an empty file, which git lists", "path", step.path(), "error", err)
				return removed
			}
		case err != nil || !info.IsDir():
			return removed // Codex protects what is there, or runs no command
		case others[step]:
			s.record(step)
		}
	}
	return removed
}

func (s *folderSet) record(folder Folder) {
	if slices.Contains(s.made, folder) {
		return
	}
	s.made = append(s.made, folder)
	if err := s.records.write(s.made); err != nil {
		s.log.Warn("can't record a mount point; it stays if codex-bridge is killed", "path", folder.path(), "error", err)
	}
}

// remove removes the folders that no thread holds and no command has as mount point. While Codex may be starting a
// command, it removes none: a mount that comes after the look at the mounts would be lost.
func (s *folderSet) remove(isUnheld func(Folder) bool, others map[Folder]bool) {
	if !slices.ContainsFunc(s.made, isUnheld) || !s.ended && startsCommand() {
		return
	}
	mounted := readMounts()
	slices.SortFunc(s.made, func(a, b Folder) int { return len(b.Name) - len(a.Name) }) // inner ones first
	s.made = slices.DeleteFunc(s.made, func(folder Folder) bool {
		switch {
		case !isUnheld(folder) || mounted.include(folder.path()):
			return false
		case !others[folder]:
			removeEmpty(folder)
		}
		return true
	})
	if err := s.records.write(s.made); err != nil {
		s.log.Warn("can't record the mount points", "error", err)
	}
}

// change calls do while no other bridge changes folders of the root, with the folders that others record.
// Before, it takes over those of bridges that were killed.
func (s *folderSet) change(do func(others map[Folder]bool)) {
	err := s.records.locked(func(others map[Folder]bool, left []Folder) error {
		for _, folder := range left {
			s.record(folder)
		}
		do(others)
		return nil
	})
	if err != nil {
		s.log.Warn("can't change the mount points of protected paths", "error", err)
	}
}

// removeEmpty removes a folder if it is empty, except for empty folders of Codex.
func removeEmpty(folder Folder) {
	root, err := os.OpenRoot(folder.Root)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	if names, ok := entries(root, folder.Name); ok && len(names) > 0 {
		for _, name := range names {
			if !slices.Contains(CodexNames, name) || !isEmpty(root, path.Join(folder.Name, name)) {
				return
			}
		}
		for _, name := range names {
			removeFolder(root, path.Join(folder.Name, name))
		}
	}
	removeFolder(root, folder.Name)
}

// IsLeftOver reports whether a file looks like a mount point that a killed command has left.
func IsLeftOver(file string) bool {
	info, err := os.Lstat(file)
	return err == nil && isLeftOver(info)
}

// isLeftOver reports whether a file is empty and read-only, as Codex creates its mount points.
func isLeftOver(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Size() == 0 && info.Mode().Perm()&0o222 == 0
}
