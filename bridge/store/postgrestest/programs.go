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

// envPrograms is the environment variable with the folder of the server's programs.
const envPrograms = "CODEX_BRIDGE_POSTGRES"

// debianFolder is the folder where Debian installs the programs of each version, outside PATH.
const debianFolder = "/usr/lib/postgresql"

var errNotInstalled = errors.New(`there is no initdb in ` + debianFolder + `/*/bin or on PATH; run "make postgres", which installs Debian's package postgresql, ` +
	`or set ` + envPrograms + ` to the folder of the server's programs`)

// programFolder returns the folder of initdb and postgres.
func programFolder() (string, error) {
	if folder := os.Getenv(envPrograms); folder != "" {
		if _, err := exec.LookPath(filepath.Join(folder, "initdb")); err != nil {
			return "", fmt.Errorf("%s: %w; it is the folder of the server's programs", envPrograms, err)
		}
		return filepath.Abs(folder)
	}
	entries, err := os.ReadDir(debianFolder)
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
		folder := filepath.Join(debianFolder, strconv.Itoa(version), "bin")
		if _, err := exec.LookPath(filepath.Join(folder, "initdb")); err == nil {
			return folder, nil // a folder without initdb has only the client
		}
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errNotInstalled
	}
	return filepath.Dir(initdb), nil
}
