package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"codex-bridge/bridge/policy"
)

// World is the machine as policy sees it: the folder we were started in, the
// user's home, the temporary folder, and the file system. What can't be found
// out stays empty, which policy takes for unknown.
func World() policy.State {
	state := policy.State{Paths: filesystem{}}
	if dir, err := os.Getwd(); err == nil {
		state.Start, _ = filesystem{}.Canonical(dir)
	}
	if home, err := os.UserHomeDir(); err == nil {
		state.Home, _ = filesystem{}.Canonical(home)
	}
	if temp := os.Getenv("TMPDIR"); temp != "" {
		state.Temp, _ = filesystem{}.Canonical(temp)
	}
	return state
}

type filesystem struct{}

// Canonical implements policy.Paths.
func (filesystem) Canonical(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errors.New("not an absolute path: " + path)
	}
	path = filepath.Clean(path)
	rest := ""
	for {
		resolved, err := filepath.EvalSymlinks(path)
		switch {
		case err == nil:
			return filepath.Join(resolved, rest), nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err // a loop, or a folder that may not be read: nobody knows where it leads
		}
		// A link whose target is missing leads where its target would be, not here.
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", &fs.PathError{Op: "resolve", Path: path, Err: errors.New("a link to nothing")}
		}
		parent := filepath.Dir(path)
		if parent == path {
			return "", err
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = parent
	}
}
