package store

import (
	"os"
	"path/filepath"
)

// maxLog is the size in bytes above which a log starts again.
const maxLog = 1 << 20

// OpenLog opens a log in the state folder to append to it. A long one is emptied first. The caller
// closes it.
func OpenLog(name string) (*os.File, error) {
	folder, err := Folder()
	if err != nil {
		return nil, err
	}
	if err := EnsurePrivateFolder(folder); err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	path := filepath.Join(folder, name)
	if info, err := os.Lstat(path); err == nil && info.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags, 0o600)
}
