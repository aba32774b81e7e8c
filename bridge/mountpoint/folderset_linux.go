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
	made    []made   // that this bridge must remove, or another one that records them
	blocked []Folder // files in place of folders above held ones, each of which apply has returned
	ended   bool     // Codex has ended, so nothing starts a command
	adopt   bool     // the next apply looks for folders of bridges that were killed
}

// apply creates the held folders, and removes the others unless a command still has one as mount point.
// It returns the files that are newly in place of folders above held ones, and reports whether unheld folders are left.
func (s *folderSet) apply(held []Folder) (blocked []string, unheld bool) {
	isUnheld := func(folder made) bool { return !slices.ContainsFunc(held, folder.isOrLeadsTo) }
	missing := slices.DeleteFunc(slices.Clone(held), s.isReady)
	if len(missing) == 0 && !slices.ContainsFunc(s.made, isUnheld) && !s.adopt {
		return nil, false
	}
	s.adopt = false
	s.change(func(others map[made]bool) {
		for _, folder := range missing {
			if file := s.make(folder, others); file != "" {
				blocked = append(blocked, file)
			}
		}
		s.remove(isUnheld, others)
	})
	return blocked, slices.ContainsFunc(s.made, isUnheld)
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
			return !s.blocks(step, folder, info)
		case !slices.Contains(s.made, identify(root, step)) && isEmpty(root, step.Name):
			return false
		}
	}
	return true
}

// make creates a folder and those above it. If a file is newly in place of one of those above, make returns its path.
//
// A killed command of Codex may have left such a file. The user may also have created it, and nothing tells the two
// apart. So it stays.
func (s *folderSet) make(folder Folder, others map[made]bool) (blocked string) {
	root, err := os.OpenRoot(folder.Root)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	for _, step := range folder.steps() {
		info, err := root.Lstat(step.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := root.Mkdir(step.Name, 0o755); err != nil {
				s.log.Warn("can't create a mount point; Codex protects the path by an empty file, which git lists", "path", step.path(), "error", err)
				return ""
			}
			s.record(identify(root, step)) // if this process is killed before, it stays: nothing tells it from the user's
		case err != nil:
			return ""
		case !info.IsDir():
			if !s.blocks(step, folder, info) || readMounts().include(step.path()) {
				return "" // Codex protects what is there, or has just put it there for a command
			}
			s.blocked = append(s.blocked, step)
			return step.path()
		default:
			if found := identify(root, step); others[found] {
				s.record(found)
			}
		}
	}
	return ""
}

// blocks reports whether a file is in place of a folder above another one, and apply has not returned it yet.
func (s *folderSet) blocks(step, folder Folder, info fs.FileInfo) bool {
	return step != folder && info.Mode().IsRegular() && !slices.Contains(s.blocked, step)
}

func (s *folderSet) record(folder made) {
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
func (s *folderSet) remove(isUnheld func(made) bool, others map[made]bool) {
	if !slices.ContainsFunc(s.made, isUnheld) || !s.ended && startsCommand() {
		return
	}
	mounted := readMounts()
	slices.SortFunc(s.made, func(a, b made) int { return len(b.Name) - len(a.Name) }) // inner ones first
	s.made = slices.DeleteFunc(s.made, func(folder made) bool {
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
func (s *folderSet) change(do func(others map[made]bool)) {
	err := s.records.locked(func(others map[made]bool, left []made) error {
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

// removeEmpty removes a folder if it is still the one that was made and is empty, except for empty folders of Codex.
func removeEmpty(folder made) {
	root, err := os.OpenRoot(folder.Root)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	if folder.Inode == 0 || identify(root, folder.Folder) != folder {
		return // it is gone, or another one, such as the user's
	}
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
