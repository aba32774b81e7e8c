package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge.example/relay/hook/ask"
)

// DefaultFolder returns the folder for the servers' folders: codex-bridge in the user's
// runtime directory, else run in the state folder. isOpen reports whether sandboxed
// commands can write to a folder; such a runtime directory is not used.
func DefaultFolder(state string, isOpen func(folder string) bool) string {
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) && ask.CheckOwner(runtime, fs.ModeDir) == nil {
		if folder := filepath.Join(runtime, "codex-bridge"); !isOpen(folder) {
			return folder
		}
	}
	return filepath.Join(state, "run")
}

// makePrivateFolder creates a folder that only the user can enter, or checks that an
// existing one is private. hint says how to correct one that is not.
func makePrivateFolder(path, hint string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("the folder %q is relative, and codex starts hooks in any folder; use an absolute path", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("%w; set CODEX_BRIDGE_STATE to a folder that you can write to", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; set CODEX_BRIDGE_STATE to a folder that you can write to", err)
	}
	if err := ask.CheckOwner(path, fs.ModeDir); err != nil {
		return fmt.Errorf("%w; %s", err, hint)
	}
	return nil
}

// startingPrefix starts the name of a folder whose server does not listen yet. Without it,
// such a folder would look like one whose server has died.
const startingPrefix = "_"

// maxStartupAge is the age up to which a server may still be starting in its folder.
const maxStartupAge = time.Minute

// removeStaleFolders removes the folders whose server has died. It ignores errors: the next
// server tries again.
func removeStaleFolders(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		info, err := e.Info()
		if err != nil || ask.CheckOwnerInfo(path, info, fs.ModeDir) != nil {
			continue
		}
		err = ask.Probe(filepath.Join(path, socketName))
		old := time.Since(info.ModTime()) > maxStartupAge
		if errors.Is(err, fs.ErrNotExist) && old || ask.IsRefused(err) && (old || !strings.HasPrefix(e.Name(), startingPrefix)) {
			_ = os.RemoveAll(path)
		}
	}
}
