package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// DefaultFolder is where servers have their folders: in the user's runtime directory
// where there is one, which is gone after a restart of the machine and which Codex's
// sandbox does not let commands write to, else in the state folder.
func DefaultFolder(state string) string {
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) && ownPath(runtime, fs.ModeDir) == nil {
		return filepath.Join(runtime, "codex-bridge")
	}
	return filepath.Join(state, "run")
}

// ownFolder makes a folder, or finds one, that nobody but the user can enter.
func ownFolder(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("the folder %q is relative, and codex starts hooks anywhere; name it in full", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("%w; name a folder that can be written with CODEX_BRIDGE_STATE", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; name a folder that can be written with CODEX_BRIDGE_STATE", err)
	}
	if err := ownPath(path, fs.ModeDir); err != nil {
		return fmt.Errorf("%w; remove it, or name another folder with CODEX_BRIDGE_STATE", err)
	}
	return nil
}

// ownPath tells whether at a path there is something of a kind, itself and not a link to
// it, that is the user's own and closed to others.
func ownPath(path string, kind fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return own(path, info, kind)
}

var nouns = map[fs.FileMode]string{0: "file", fs.ModeDir: "folder", fs.ModeSocket: "socket"}

func own(path string, info fs.FileInfo, kind fs.FileMode) error {
	switch got := info.Mode().Type(); {
	case got == fs.ModeSymlink:
		return fmt.Errorf("%s is a symbolic link, not a %s", path, nouns[kind])
	case got != kind:
		return fmt.Errorf("%s is no %s", path, nouns[kind])
	}
	return private(path, info)
}

// young is how long a folder without a socket may be one that is being made.
const young = time.Minute

// prune removes the folders of servers that are dead: nobody listens there. What can't
// be removed is left to who comes next.
func prune(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		info, err := e.Info()
		if err != nil || own(path, info, fs.ModeDir) != nil {
			continue
		}
		switch err := probe(filepath.Join(path, socketName)); {
		case errors.Is(err, fs.ErrNotExist) && time.Since(info.ModTime()) > young, refused(err):
			_ = os.RemoveAll(path)
		}
	}
}

// probe tells why a server can't be reached, if that is so.
func probe(socket string) error {
	conn, err := dial(socket, time.Now().Add(time.Second))
	if err != nil {
		return err
	}
	return conn.Close()
}
