//go:build linux

package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// envPrograms is the folder of the server's programs, where it is not found.
const envPrograms = "CODEX_BRIDGE_POSTGRES"

// debian is where Debian puts the programs of each version, which are not on PATH.
const debian = "/usr/lib/postgresql"

var errNone = errors.New(`there is no initdb in ` + debian + `/*/bin or on PATH; run "make postgres", which installs Debian's package postgresql, ` +
	`or set ` + envPrograms + ` to the folder of the server's programs`)

// programs is the folder of initdb and postgres.
func programs() (string, error) {
	if folder := os.Getenv(envPrograms); folder != "" {
		if _, err := exec.LookPath(filepath.Join(folder, "initdb")); err != nil {
			return "", fmt.Errorf("%s: %w; it is the folder of the server's programs", envPrograms, err)
		}
		return filepath.Abs(folder)
	}
	entries, err := os.ReadDir(debian)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	var versions []int
	for _, entry := range entries {
		if version, err := strconv.Atoi(entry.Name()); err == nil {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	for _, version := range slices.Backward(versions) {
		folder := filepath.Join(debian, strconv.Itoa(version), "bin")
		if _, err := exec.LookPath(filepath.Join(folder, "initdb")); err == nil {
			return folder, nil // without it, it is the client alone
		}
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errNone
	}
	return filepath.Dir(initdb), nil
}
