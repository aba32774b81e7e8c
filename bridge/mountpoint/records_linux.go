package mountpoint

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/statefolder"
)

// records are the files in which the bridges of a state folder record what they have created in one
// root. A bridge locks its file as long as it runs, so the file of a killed one can be locked by another.
type records struct {
	folder string
	key    string   // the start of the names of the files of this root
	own    *os.File // nil before the first write
}

// made is a folder that a bridge has created. Another one that later has its name differs in Inode or Born.
type made struct {
	Folder
	Inode uint64 `json:"inode"`
	Born  int64  `json:"born"` // when it was created, in nanoseconds; 0 if that is not known
}

// identify returns a folder as made records it; without an inode if it can't be opened.
func identify(root *os.Root, folder Folder) made {
	found := made{Folder: folder}
	f, err := root.OpenFile(folder.Name, unix.O_DIRECTORY, 0) // Open would wait for the writer of a pipe
	if err != nil {
		return found
	}
	defer func() { _ = f.Close() }()
	var info unix.Stat_t
	if unix.Fstat(int(f.Fd()), &info) != nil {
		return found
	}
	found.Inode = info.Ino
	var more unix.Statx_t // a container may forbid statx
	if unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &more) == nil && more.Mask&unix.STATX_BTIME != 0 {
		found.Born = more.Btime.Sec*int64(time.Second) + int64(more.Btime.Nsec)
	}
	return found
}

const (
	recordSuffix = ".json"
	lockSuffix   = ".lock" // of the file that a bridge locks for a change
	lockMode     = 0o600
	lockTimeout  = 2 * time.Second
)

// files returns the files in which bridges record folders of this root.
func (r *records) files() ([]string, error) {
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		if name := entry.Name(); recordKey(name) == r.key {
			found = append(found, filepath.Join(r.folder, name))
		}
	}
	return found, nil
}

// recordKey returns the key in the name of a record; "" if the file is none.
func recordKey(name string) string {
	key, rest, _ := strings.Cut(name, ".")
	if !strings.HasSuffix(rest, recordSuffix) {
		return ""
	}
	return key
}

// locked calls do while no other bridge changes folders of the root. others are the folders that
// running bridges record, left those of bridges that were killed. After do succeeds, these files are
// removed.
func (r *records) locked(do func(others map[made]bool, left []made) error) error {
	lock, err := r.lock()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	others, left, dead, err := r.read()
	if err != nil {
		return err
	}
	if err := do(others, left); err != nil {
		return err
	}
	for _, file := range dead {
		_ = os.Remove(file)
	}
	if found, err := r.files(); err == nil && len(found) == 0 {
		_ = os.Remove(lock.Name())
	}
	return nil
}

// lock locks the lock file. Another bridge may remove it meanwhile, while it holds its lock: then a new
// file is created.
func (r *records) lock() (*os.File, error) {
	if err := statefolder.Ensure(r.folder); err != nil {
		return nil, err
	}
	at := filepath.Join(r.folder, r.key+lockSuffix)
	for end := time.Now().Add(lockTimeout); ; time.Sleep(5 * time.Millisecond) {
		lock, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY, lockMode)
		if err != nil {
			return nil, err
		}
		if tryLock(lock) && isAt(lock, at) {
			return lock, nil
		}
		_ = lock.Close()
		if time.Now().After(end) {
			return nil, errors.New("another codex-bridge keeps " + at + " locked")
		}
	}
}

// isAt reports whether a path still names an open file.
func isAt(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, named)
}

func tryLock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// read reads the files of the other bridges; dead are the files of those that were killed.
func (r *records) read() (others map[made]bool, left []made, dead []string, err error) {
	files, err := r.files()
	if err != nil {
		return nil, nil, nil, err
	}
	others = make(map[made]bool)
	for _, at := range files {
		if r.own != nil && at == r.own.Name() {
			continue
		}
		folders, running, err := readRecord(at)
		if err != nil {
			continue // its bridge has just removed it
		}
		if !running {
			left, dead = append(left, folders...), append(dead, at)
			continue
		}
		for _, folder := range folders {
			others[folder] = true
		}
	}
	return others, left, dead, nil
}

// readRecord reads the file of a bridge, and reports whether that bridge runs.
func readRecord(at string) (folders []made, running bool, err error) {
	file, err := os.OpenFile(at, os.O_RDWR, 0)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = file.Close() }()
	running = !tryLock(file)
	_ = json.NewDecoder(file).Decode(&folders) // what an incomplete file does not name stays
	return folders, running, nil
}

// write replaces what the file of this bridge records. Without folders it removes the file.
func (r *records) write(folders []made) error {
	if len(folders) == 0 {
		if r.own != nil {
			_ = os.Remove(r.own.Name())
		}
		r.close()
		return nil
	}
	if r.own == nil {
		file, err := os.CreateTemp(r.folder, r.key+".*"+recordSuffix)
		if err != nil {
			return err
		}
		if !tryLock(file) {
			return errors.Join(errors.New("can't lock "+file.Name()), file.Close())
		}
		r.own = file
	}
	text, err := json.Marshal(folders)
	if err != nil {
		return err
	}
	// The end of a longer, older text may stay behind it: only the first value counts.
	if _, err := r.own.WriteAt(append(text, '\n'), 0); err != nil {
		return err
	}
	return r.own.Truncate(int64(len(text)) + 1)
}

// close unlocks the file of this bridge. The next bridge takes over what it records.
func (r *records) close() {
	if r.own == nil {
		return
	}
	_ = r.own.Close()
	r.own = nil
}
