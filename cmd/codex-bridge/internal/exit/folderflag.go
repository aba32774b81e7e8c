package exit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ExistingFolder returns the absolute path of the folder that a flag names. It prints an error and returns one if
// there is no such folder.
func ExistingFolder(flag, path string) (string, error) {
	folder, err := filepath.Abs(path)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(folder)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", UsageError(fmt.Sprintf("%s: the folder %s does not exist; create it, or name another one", flag, folder))
	case err != nil:
		return "", UsageError(fmt.Sprintf("%s: the folder can't be read: %v; name another one", flag, err))
	case !info.IsDir():
		return "", UsageError(fmt.Sprintf("%s: %s is not a folder; name the folder", flag, folder))
	}
	return folder, nil
}
