package compat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/statefolder"
)

// UntestedCodex returns a sentence for the user if Codex is newer than the tested one; "" otherwise, and if
// the state folder records that a user of it was told about this release, or that it works.
func UntestedCodex(ctx context.Context, program *codex.Program, log *slog.Logger) string {
	version, err := program.Version(ctx)
	if err != nil || codex.CompareVersions(version, methods.Measured) <= 0 {
		return ""
	}
	if _, works := LastCheck(version, program.Path()); works {
		return ""
	}
	first, err := recordUntested(version)
	if err != nil {
		log.Warn("the state folder does not record that a newer Codex was reported, so each start reports it", "error", err)
	} else if !first {
		return ""
	}
	return fmt.Sprintf("codex-bridge was not tested with Codex %s: it is newer than %s. The bridge refuses methods and removes fields that it does not know, unless policy.unknown_methods allows them. \"codex-bridge methods diff\" lists them, and \"codex-bridge codex check\" tries this release.", version, methods.Measured)
}

// recordUntested records in the state folder that Codex of this version was reported by a bridge that was
// tested with an older one. first reports that no bridge with the same tested release has done so.
func recordUntested(version string) (first bool, err error) {
	folder, err := statefolder.Path()
	if err != nil {
		return false, err
	}
	if err := statefolder.Ensure(folder); err != nil {
		return false, err
	}
	name := filepath.Join("untested", version+" with "+methods.Measured)
	root, err := os.OpenRoot(folder) // the version is Codex's own text
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }()
	if err := root.Mkdir("untested", 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}
