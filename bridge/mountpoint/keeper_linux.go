package mountpoint

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"sync"
	"time"
)

// Keeper creates the folders of threads, and removes those that it has created. Bridges that share a
// state folder share them, and remove those of a bridge that was killed. Safe for concurrent use; a
// nil Keeper does nothing.
type Keeper struct {
	records *records
	log     *slog.Logger

	mu    sync.Mutex
	held  map[string][]Folder // by thread
	made  []Folder            // that this bridge must remove, or another one that records them
	retry *time.Timer         // nil while no unheld folder waits for the end of its mounts
}

// New returns a Keeper that records its folders in a private folder of the state. It removes what an
// earlier bridge has left.
func New(state string, log *slog.Logger) *Keeper {
	k := &Keeper{records: &records{folder: state}, log: log, held: make(map[string][]Folder)}
	if k.records.exist() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.changeLocked(func(map[Folder]bool) {})
		k.removeUnheldLocked(firstRetry)
	}
	return k
}

// Hold keeps the folders until Release, in addition to those that the thread has already. A folder
// that exists is not changed. Hold returns the empty files that a killed command had left in place
// of folders, and that it has removed.
func (k *Keeper) Hold(thread string, folders []Folder) (removed []string) {
	if k == nil || len(folders) == 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, folder := range folders {
		if !slices.Contains(k.held[thread], folder) {
			k.held[thread] = append(k.held[thread], folder)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(folders), k.isReadyLocked)
	if len(missing) == 0 {
		return nil
	}
	k.changeLocked(func(others map[Folder]bool) {
		for _, folder := range missing {
			removed = append(removed, k.makeLocked(folder, others)...)
		}
	})
	return removed
}

// Release ends what Hold began for a thread. A folder that no other thread or bridge holds is
// removed, unless it is no longer empty. While a command still has it as mount point, it stays.
func (k *Keeper) Release(thread string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.held[thread]; ok {
		delete(k.held, thread)
		k.removeUnheldLocked(firstRetry)
	}
}

const (
	firstRetry   = 100 * time.Millisecond
	lastRetry    = 10 * time.Second
	closeTimeout = 2 * time.Second // how long Close waits for commands that are being killed
)

// Close removes all folders. Call it after Codex has ended. The next bridge removes the
// others.
func (k *Keeper) Close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.held)
	for end := time.Now().Add(closeTimeout); ; time.Sleep(firstRetry / 5) {
		k.removeUnheldLocked(0)
		if len(k.made) == 0 || time.Now().After(end) {
			break
		}
	}
	k.records.close()
}

// isReadyLocked reports whether a folder, and each one above it, is there and is either in use by
// the user or recorded by this bridge. An empty one may be another bridge's.
func (k *Keeper) isReadyLocked(folder Folder) bool {
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
		case !slices.Contains(k.made, step) && isEmpty(root, step.Name):
			return false
		}
	}
	return true
}

// makeLocked creates a folder and those above it. It returns the empty files that were in place of
// one of them.
func (k *Keeper) makeLocked(folder Folder, others map[Folder]bool) (removed []string) {
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
			k.recordLocked(step) // before it exists: this process may be killed
			if err := root.Mkdir(step.Name, 0o755); err != nil {
				k.log.Warn("can't create a mount point; Codex protects the path by an empty file, which git lists", "path", step.path(), "error", err)
				return removed
			}
		case err != nil || !info.IsDir():
			return removed // Codex protects what is there, or runs no command
		case others[step]:
			k.recordLocked(step)
		}
	}
	return removed
}

func (k *Keeper) recordLocked(folder Folder) {
	if slices.Contains(k.made, folder) {
		return
	}
	k.made = append(k.made, folder)
	if err := k.records.write(k.made); err != nil {
		k.log.Warn("can't record a mount point; it stays if codex-bridge is killed", "path", folder.path(), "error", err)
	}
}

// removeUnheldLocked removes the folders that no thread holds. If a command still has one as mount
// point, it tries again after the time retry, and then after longer times; 0 means never.
func (k *Keeper) removeUnheldLocked(retry time.Duration) {
	if k.retry != nil {
		k.retry.Stop()
		k.retry = nil
	}
	if !slices.ContainsFunc(k.made, k.isUnheldLocked) {
		return
	}
	k.changeLocked(func(others map[Folder]bool) {
		mounted := readMounts()
		slices.SortFunc(k.made, func(a, b Folder) int { return len(b.Name) - len(a.Name) }) // inner ones first
		k.made = slices.DeleteFunc(k.made, func(folder Folder) bool {
			switch {
			case !k.isUnheldLocked(folder) || mounted.include(folder.path()):
				return false
			case !others[folder]:
				removeEmpty(folder)
			}
			return true
		})
		if err := k.records.write(k.made); err != nil {
			k.log.Warn("can't record the mount points", "error", err)
		}
	})
	if retry > 0 && slices.ContainsFunc(k.made, k.isUnheldLocked) {
		k.retry = time.AfterFunc(retry, func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			if k.retry != nil {
				k.removeUnheldLocked(min(2*retry, lastRetry))
			}
		})
	}
}

func (k *Keeper) isUnheldLocked(folder Folder) bool {
	for _, folders := range k.held {
		if slices.ContainsFunc(folders, folder.isOrLeadsTo) {
			return false
		}
	}
	return true
}

// changeLocked calls do while no other bridge changes folders, with the folders that others record.
// Before, it takes over those of bridges that were killed.
func (k *Keeper) changeLocked(do func(others map[Folder]bool)) {
	err := k.records.locked(func(others map[Folder]bool, left []Folder) error {
		for _, folder := range left {
			k.recordLocked(folder)
		}
		do(others)
		return nil
	})
	if err != nil {
		k.log.Warn("can't change the mount points of protected paths", "error", err)
	}
}

// codexNames are the folders that Codex itself creates as mount points in each writable folder, and
// leaves there if it is killed.
var codexNames = []string{".agents", ".aws", ".codex", ".git"}

// removeEmpty removes a folder if it is empty, except for empty folders of Codex.
func removeEmpty(folder Folder) {
	root, err := os.OpenRoot(folder.Root)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	if names, ok := entries(root, folder.Name); ok && len(names) > 0 {
		for _, name := range names {
			if !slices.Contains(codexNames, name) || !isEmpty(root, path.Join(folder.Name, name)) {
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
