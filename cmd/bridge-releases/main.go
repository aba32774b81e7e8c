// Command bridge-releases follows the releases of Codex on npm.
//
//	go run ./cmd/bridge-releases [-last 14]
//
// runs TestCanary with the last releases, and writes the results into docs/internals/releases.md.
//
//	go run ./cmd/bridge-releases -move [-release 1.2.3] [-summary FILE]
//
// moves the tables, the tests and that page to a newer release, for a person to judge. It prints a summary in
// Markdown. Without -release it takes the newest one.
//
//	go run ./cmd/bridge-releases -propose FOLDER
//
// opens or updates a pull request with changes.patch and summary.md of the folder.
//
// All but -propose need npm and the network, and some 300 MB for one release at a time. -root is the folder of the
// repository.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
)

func main() {
	root := flag.String("root", ".", "the repository")
	last := flag.Int("last", 14, "how many releases to try")
	moves := flag.Bool("move", false, "move to a newer release")
	release := flag.String("release", "", "the release to move to; empty: the newest one on npm")
	summary := flag.String("summary", "", "write the summary of the move into this file, too")
	proposal := flag.String("propose", "", "open a pull request with what this folder has")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	path, err := filepath.Abs(*root)
	switch {
	case err != nil:
	case *proposal != "":
		err = propose(ctx, path, *proposal)
	case *moves:
		err = moveTo(ctx, path, *release, *summary)
	default:
		err = tryLast(ctx, path, *last)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bridge-releases:", err)
		os.Exit(1)
	}
}

// tryLast runs TestCanary with the last releases, the newest first.
func tryLast(ctx context.Context, root string, last int) error {
	versions, err := stableVersions(ctx)
	if err != nil {
		return err
	}
	for _, version := range slices.Backward(versions[max(0, len(versions)-last):]) {
		r, err := install(ctx, root, version)
		if err != nil {
			return fmt.Errorf("codex %s: %w", version, err)
		}
		got, err := r.try(ctx, root)
		r.remove()
		if err != nil {
			return fmt.Errorf("codex %s: %w", version, err)
		}
		fmt.Println(got)
		if err := record(root, got); err != nil {
			return err
		}
	}
	return nil
}
