// Command codex-bridge stands where an editor expects codex: it runs the real
// `codex app-server` behind a policy, and becomes the real codex for everything
// else. See the README and docs/.
package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge/bridge/argv"
	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/policy"
	"codex-bridge/relay/hook"
)

// Exit statuses of the contract.
const (
	exitFailed   = 1
	exitConfig   = 2   // a configuration that does not load, or a wrong call
	exitNotFound = 127 // no codex
)

func main() {
	args := os.Args[1:]
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	// First of all: codex waits for it before each tool call. Most end before this, in
	// relay/hook/ask. A copy of us that is named codex runs its hooks, too; the real one
	// has no such command.
	if len(args) > 0 && args[0] == "hook" && (name != "codex" || slices.Contains(args, "--socket")) {
		os.Exit(hook.Run(args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if name != "codex" && len(args) > 0 && isOwn(args[0]) {
		os.Exit(runOwn(args))
	}
	os.Exit(report(standIn(args)))
}

// standIn does what codex would do with these arguments. It returns only when
// that failed.
func standIn(args []string) error {
	cfg, err := config.LoadProxy(configFiles())
	if err != nil {
		return err
	}
	path, err := codex.Find(cfg.Codex.Command)
	if err != nil {
		return err
	}
	command := codex.Command{
		Path: path,
		Args: slices.Concat(cfg.Codex.Args, args),
		Env:  codex.Environ(os.Environ(), cfg.Codex.Env, cfg.Codex.EnvRemove),
	}
	record := newLedger(cfg)
	if command.Args, err = holdArgs(cfg, command.Args, len(cfg.Codex.Args), record, logger(cfg)); err != nil {
		return err
	}
	if argv.Parse(command.Args).Proxy {
		warnInvalid(cfg, logger(cfg))
		return proxy(cfg, command, record)
	}
	if err := cfg.Invalid(); err != nil {
		return err // no thread request follows that could be refused
	}
	if err := record.Close(); err != nil {
		return err
	}
	code, err := codex.Become(command.Path, command.Args, command.Env)
	if err == nil {
		os.Exit(code)
	}
	return err
}

// status is the exit status for an error.
func status(err error) int {
	var find *codex.FindError
	var conf *config.Error
	var refused *refusedArgs
	var open *policy.ExposedError
	var variable *guard.EnvFileError
	switch {
	case errors.As(err, &find):
		return exitNotFound
	case errors.As(err, &conf), errors.As(err, &refused), errors.As(err, &open), errors.As(err, &variable), errors.Is(err, errUnenforced):
		return exitConfig
	}
	return exitFailed
}
