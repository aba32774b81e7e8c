//go:build linux

// Program noisy is codex, with noise: it puts a process between codex's app-server and who has
// started it, and becomes codex itself, so that whoever looks at the process, signals it or waits
// for it has to do with codex and nothing else. The end-to-end tests give it to the bridge for codex.
//
// It is linked with the path of the real codex. See package noise for what is said.
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

// What noisy is told by its environment; codex is not.
const (
	seedEnv   = "CODEX_BRIDGE_E2E_NOISE"        // the seed; not set: no noise
	aboutEnv  = "CODEX_BRIDGE_E2E_NOISE_ABOUT"  // the test
	reportEnv = "CODEX_BRIDGE_E2E_NOISE_REPORT" // the folder that takes what was said
)

var codex string // the real one; set by the linker

func main() {
	if len(os.Args) == 2 && os.Args[0] == filterName {
		os.Exit(filter(os.Args[1]))
	}
	fmt.Fprintln(os.Stderr, "noisy:", become())
	os.Exit(1)
}

// become puts the filter in place and becomes codex; it returns why it did not.
func become() error {
	if os.Getenv(seedEnv) != "" && slices.Contains(os.Args, "app-server") {
		if err := between(); err != nil {
			return err
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, seedEnv) })
	return fmt.Errorf("%s: %w", codex, syscall.Exec(codex, append([]string{codex}, os.Args[1:]...), env)) //nolint:gosec // the arguments are codex's
}

// filterName is what the process between is called.
const filterName = "codex-noise"

// between starts the filter on our stdin and stdout, and gives us pipes to it instead. It is
// codex's child, and ends with it.
func between() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var in, out [2]int // not os.Pipe's, which do not block
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
	return errors.Join(unix.Dup2(in[0], 0), unix.Dup2(out[1], 1)) // the rest closes when we become codex
}
