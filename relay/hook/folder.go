package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge/relay/hook/ask"
)

// DefaultFolder is where servers have their folders: in the user's runtime directory
// if there is one, which is gone after a restart of the machine, else in the state folder.
// isOpen reports whether sandboxed commands can write a folder; such a one is not used.
func DefaultFolder(state string, isOpen func(folder string) bool) string {
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) && ask.OwnPath(runtime, fs.ModeDir) == nil {
		if folder := filepath.Join(runtime, "codex-bridge"); !isOpen(folder) {
			return folder
		}
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
	if err := ask.OwnPath(path, fs.ModeDir); err != nil {
		return fmt.Errorf("%w; remove it, or name another folder with CODEX_BRIDGE_STATE", err)
	}
	return nil
}

// making begins the name of a folder whose server does not listen yet. Else there were a
// moment in which it can't be told from one that is dead.
const making = "_"

// young is how long a folder may be one that is being made.
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
		if err != nil || ask.Own(path, info, fs.ModeDir) != nil {
			continue
		}
		err = ask.Probe(filepath.Join(path, socketName))
		old := time.Since(info.ModTime()) > young
		if errors.Is(err, fs.ErrNotExist) && old || ask.Refused(err) && (old || !strings.HasPrefix(e.Name(), making)) {
			_ = os.RemoveAll(path)
		}
	}
}
