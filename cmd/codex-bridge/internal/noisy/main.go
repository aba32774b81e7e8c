//go:build linux

// Program noisy is Codex with noise. It puts a filter process between Codex's app-server and the
// parent, and then becomes Codex, so that signals and waits reach Codex itself. The end-to-end
// tests configure it as the bridge's Codex.
//
// The linker sets the path of the real Codex. See package noise for the noise.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The environment variables of noisy. Codex does not get them.
const (
	seedEnv   = "CODEX_BRIDGE_E2E_NOISE"        // the seed; unset: no noise
	aboutEnv  = "CODEX_BRIDGE_E2E_NOISE_ABOUT"  // the name of the test
	reportEnv = "CODEX_BRIDGE_E2E_NOISE_REPORT" // the folder of the reports
)

var codex string // path of the real Codex; set by the linker

func main() {
	if len(os.Args) == 2 && os.Args[0] == filterName {
		os.Exit(filter(os.Args[1]))
	}
	fmt.Fprintln(os.Stderr, "noisy:", runWithFilter())
	os.Exit(1)
}

// runWithFilter starts the filter and becomes Codex. It returns only an error.
func runWithFilter() error {
	if os.Getenv(seedEnv) != "" && slices.Contains(os.Args, "app-server") {
		if err := startFilter(); err != nil {
			return err
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, seedEnv) })
	return fmt.Errorf("%s: %w", codex, syscall.Exec(codex, append([]string{codex}, os.Args[1:]...), env)) //nolint:gosec // the arguments are Codex's
}

// filterName is the process name of the filter.
const filterName = "codex-noise"

// startFilter starts the filter on stdin and stdout of this process and replaces them by pipes to
// it. The filter is a child of Codex and ends with it.
func startFilter() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var in, out [2]int // os.Pipe sets O_NONBLOCK
	if err := errors.Join(unix.Pipe2(in[:], unix.O_CLOEXEC), unix.Pipe2(out[:], unix.O_CLOEXEC)); err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Args = []string{filterName, os.Getenv(seedEnv)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdin, os.Stdout, os.Stderr, []*os.File{
		os.NewFile(uintptr(in[1]), "codex's stdin"), os.NewFile(uintptr(out[0]), "codex's stdout"),
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return errors.Join(unix.Dup2(in[0], 0), unix.Dup2(out[1], 1)) // exec closes the other ends
}
