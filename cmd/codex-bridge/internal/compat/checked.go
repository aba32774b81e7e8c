package compat

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
)

// checkedFolder is the folder in the state folder with a file for each release of Codex that `codex check` found to
// work.
const checkedFolder = "checked"

// checkedCodex is a record that a release works with a bridge.
type checkedCodex struct {
	Bridge  string    `json:"bridge"`
	Table   string    `json:"table"`   // the release that the bridge knows
	Program string    `json:"program"` // release.Identity
	Time    time.Time `json:"time"`
	Verdict string    `json:"verdict"`
}

// RecordChecked records that a release works with this bridge. program is the identity of its file.
func RecordChecked(version, program, verdict string) error {
	text, err := json.Marshal(checkedCodex{buildinfo.Version, methods.Measured, program, time.Now().UTC().Round(time.Second), verdict})
	if err != nil {
		return err
	}
	root, err := openChecked()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return root.WriteFile(version, text, 0o600)
}

// ForgetChecked removes the record of a release.
func ForgetChecked(version string) error {
	root, err := openChecked()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.Remove(version); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openChecked opens the folder of the records, and creates it. The names in it are Codex's own text.
func openChecked() (*os.Root, error) {
	folder, err := statefolder.Path()
	if err != nil {
		return nil, err
	}
	if err := statefolder.Ensure(folder); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if err := root.Mkdir(checkedFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return root.OpenRoot(checkedFolder)
}

// LastCheck returns the record of a release, if this bridge has checked the file at path. Another bridge, or one that
// knows another release, may treat it otherwise, and another file may be another program.
func LastCheck(version, path string) (checkedCodex, bool) {
	program, err := release.Identity(path)
	if err != nil {
		return checkedCodex{}, false
	}
	folder, err := statefolder.Path()
	if err != nil {
		return checkedCodex{}, false
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return checkedCodex{}, false
	}
	defer func() { _ = root.Close() }()
	text, err := root.ReadFile(checkedFolder + "/" + version)
	var c checkedCodex
	if err != nil || json.Unmarshal(text, &c) != nil || c.Bridge != buildinfo.Version || c.Table != methods.Measured || c.Program != program {
		return checkedCodex{}, false
	}
	return c, true
}
