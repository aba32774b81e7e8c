package codexcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/releasediff"
)

type methodsDiffCmd struct {
	Codex string `help:"The Codex to compare; without it, the one that the bridge starts." name:"codex" placeholder:"PATH"`
	JSON  bool   `help:"Print JSON." name:"json" xor:"format"`
	Patch bool   `help:"Print a patch to the source of codex-bridge, for \"git apply\"." name:"patch" xor:"format"`
}

// Run prints the differences. It ends with 1 if there are any, or if a part can't be compared. On Linux
// alone Codex can be asked for the configuration keys.
func (c methodsDiffCmd) Run(out io.Writer) error {
	cfg, err := configured.Load()
	if err != nil {
		return err
	}
	path, err := findOther(c.Codex, cfg)
	if err != nil {
		return err
	}
	var other *release.Release
	err = exit.UntilStopped(func(ctx context.Context) (err error) {
		dir, remove, err := store.MakeScratch()
		if err != nil {
			return err
		}
		other, err = releasediff.Load(ctx, codex.Command{Path: path, Args: cfg.Codex.Args, Env: configured.Setup.CodexEnviron(cfg)}, dir)
		return errors.Join(err, remove())
	})
	if stopped := (*release.StoppedError)(nil); errors.As(err, &stopped) {
		return fmt.Errorf("%w while %s described its %s", stopped.Err, path, stopped.Part)
	}
	if err != nil {
		return fmt.Errorf("%s can't be compared: %w", path, err)
	}
	tested, err := release.Tested()
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
		err = enc.Encode(append(changes, releasediff.Unread(other)...))
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
	failed := len(changes) > 0
	for _, part := range releasediff.Unread(other) {
		output.PrintError("codex-bridge: the %s of this Codex are not compared: %s", part.Name, part.Why)
		failed = failed || part.Name != string(release.PartConfigKeys) || runtime.GOOS == "linux"
	}
	if failed {
		return exit.Status(1)
	}
	return nil
}

func printChanges(out io.Writer, other *release.Release, changes []releasediff.Change) error {
	w := output.NewPrinter(out)
	w.Line("codex %s, compared with %s, which this codex-bridge knows: %s", other.Version, methods.Measured, releasediff.Summary(changes))
	for _, c := range changes {
		w.Line("%s", c)
	}
	return w.Failure()
}
