package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/internal/releasediff"
)

type methodsDiffCmd struct {
	Codex string `help:"The Codex to compare; without it, the one that the bridge starts." name:"codex" placeholder:"PATH"`
	JSON  bool   `help:"Print JSON." name:"json" xor:"format"`
	Patch bool   `help:"Print a patch to the source of codex-bridge, for \"git apply\"." name:"patch" xor:"format"`
}

// releaseTime bounds how long Codex may take to describe itself. Measured: four seconds, with
// hundreds of runs that each try one configuration key.
const releaseTime = 2 * time.Minute

// Run prints the differences. It ends with 1 if there are any.
func (c methodsDiffCmd) Run(out io.Writer) error {
	cfg, err := loadConfig()
	if err != nil {
		return err
	}
	path := c.Codex
	if path == "" {
		if path, err = codex.Find(cfg.Codex.Command); err != nil {
			return err
		}
	}
	var other *codex.Release
	err = untilStopped(func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, releaseTime)
		defer cancel()
		dir, remove, err := store.MakeScratch()
		if err != nil {
			return err
		}
		other, err = codex.LoadRelease(ctx, codex.Command{Path: path, Args: cfg.Codex.Args, Env: codex.Environ(os.Environ(), cfg.Codex.Env, cfg.Codex.EnvRemove)}, dir)
		return errors.Join(err, remove())
	})
	if err != nil {
		return loadReleaseError(path, err)
	}
	tested, err := codex.Tested()
	if err != nil {
		return err
	}
	changes, err := releasediff.Compare(tested, other)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		err = enc.Encode(changes)
	case c.Patch:
		var patch []byte
		if patch, err = releasediff.Patch(tested, other, changes); err == nil {
			_, err = out.Write(patch)
		}
	default:
		err = printChanges(out, other, changes)
	}
	if err != nil {
		return err
	}
	for _, part := range slices.Sorted(maps.Keys(other.Unread)) {
		printError("codex-bridge: the %s of this Codex are not compared: %s", part, other.Unread[part])
	}
	if len(changes) > 0 {
		return exitError(1)
	}
	return nil
}

// loadReleaseError says why a Codex could not be compared, and what the bridge waited for.
func loadReleaseError(path string, err error) error {
	var stopped *codex.StoppedError
	switch {
	case !errors.As(err, &stopped):
		return fmt.Errorf("the schema of %s can't be read: %w", path, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not describe its %s within %s of its start; try again when the machine is less busy", path, stopped.Part, releaseTime)
	}
	return fmt.Errorf("%w while %s described its %s", stopped.Err, path, stopped.Part)
}

func printChanges(out io.Writer, other *codex.Release, changes []releasediff.Change) error {
	w := &printer{w: out}
	w.line("codex %s, compared with %s, which this codex-bridge knows:", other.Version, methods.Measured)
	if len(changes) == 0 {
		w.line("no difference")
	}
	for _, c := range changes {
		w.line("%s", c)
	}
	return w.err
}
