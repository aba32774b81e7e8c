package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codex-bridge.example/bridge/statefolder"
)

const (
	// ScratchFolder is the folder of MakeScratch in the state folder.
	ScratchFolder = "scratch"
	// maxScratchListed is how many names MakeScratch reads to find folders of processes that have ended.
	maxScratchListed = 1 << 14
	// maxScratchRemoved is how many such folders one call removes.
	maxScratchRemoved = 64
)

// MakeScratch creates an empty folder for the files of one task, and returns a function that removes it with its
// content. The folder is in the state folder: unlike a temporary folder, no sandboxed command can write it, so that none
// can put a link or a git repository there. A state folder in a temporary folder is an error. MakeScratch also removes
// the folders of processes that were killed.
func MakeScratch() (folder string, remove func() error, err error) {
	state, err := statefolder.Path()
	if err != nil {
		return "", nil, err
	}
	if err := CheckOutsideTemp(state); err != nil {
		return "", nil, fmt.Errorf("%w, where sandboxed commands can write; %s", err, statefolder.HintOther)
	}
	return makeScratch(state)
}

func makeScratch(state string) (folder string, remove func() error, err error) {
	here, err := CurrentProcess()
	if err != nil {
		return "", nil, err
	}
	parent := filepath.Join(state, ScratchFolder)
	for _, one := range []string{state, parent} {
		if err := statefolder.Ensure(one); err != nil {
			return "", nil, err
		}
	}
	here.RemoveEnded(parent, "")
	made, err := os.MkdirTemp(parent, here.Mark()+"-")
	if err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(made) }
	if folder, err = filepath.EvalSymlinks(made); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return folder, remove, nil
}

// CheckOutsideTemp returns an error if a folder, which need not exist, is in /tmp or $TMPDIR.
func CheckOutsideTemp(folder string) error {
	folder = resolveExisting(folder)
	for _, temp := range []string{"/tmp", os.TempDir()} {
		rest, err := filepath.Rel(resolveExisting(temp), folder)
		if err == nil && filepath.IsLocal(rest) {
			return fmt.Errorf("%s is in the temporary folder %s", folder, temp)
		}
	}
	return nil
}

// resolveExisting resolves the links in a path as far as it exists.
func resolveExisting(path string) string {
	missing := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, missing)
		}
		if at == filepath.Dir(at) {
			return path
		}
		missing = filepath.Join(filepath.Base(at), missing)
	}
}

// RemoveEnded removes the folders in parent whose names are prefix and the Mark of a process that has ended, at most 64.
// h is the current process. It ignores errors: the next call tries again.
func (h Holder) RemoveEnded(parent, prefix string) {
	dir, err := os.Open(parent)
	if err != nil {
		return
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(maxScratchListed) // those before an error
	removed := 0
	for _, e := range entries {
		mark, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || e.Type() != fs.ModeDir || !h.MarkHasEnded(mark) {
			continue
		}
		_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		if removed++; removed == maxScratchRemoved {
			return
		}
	}
}
