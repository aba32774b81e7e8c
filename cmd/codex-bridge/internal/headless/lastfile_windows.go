package headless

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// openNamed opens or creates a file. It refuses links and junctions on the way.
func openNamed(path string) (*os.File, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for at := absolute; at != filepath.Dir(at); at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err == nil && info.Mode()&(os.ModeSymlink|os.ModeIrregular) != 0 {
			return nil, fmt.Errorf("%s is a link", at)
		}
	}
	return os.OpenFile(absolute, os.O_WRONLY|os.O_CREATE, 0o666) //nolint:gosec // as Codex creates it
}

// descriptorOf reports false: no path names an open file.
func descriptorOf(string) (int, bool) { return 0, false }

func inherited(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }

// hasOtherNames reports whether a file has hard links.
func hasOtherNames(file *os.File) (bool, error) {
	var found windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(file.Fd()), &found); err != nil {
		return false, err
	}
	return found.NumberOfLinks > 1, nil
}
