package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/releasediff"
	"codex-bridge.example/cmd/internal/scripted"
)

// move is a move of the repository from one release of Codex to another.
type move struct {
	root    string
	from    string
	to      string
	skipped []string // the releases between them
	steps   []step
	release *installed
	names   *release.Release // the names of the new release
	changes []releasediff.Change
	rows    []row // results of TestCanary
}

// step is a done step.
type step struct {
	name string
	took time.Duration
	err  error
}

// moveTo moves the repository to a release, or without one to the newest. It prints the summary, and writes it into a
// file if that has a name.
func moveTo(ctx context.Context, root, release, file string) error {
	versions, err := stableVersions(ctx)
	if err != nil {
		return err
	}
	m := &move{root: root, from: methods.Measured}
	if m.to, m.skipped, err = choose(versions, m.from, release); err != nil {
		return err
	}
	if m.to == "" {
		fmt.Printf("npm has no stable release of Codex after %s: nothing to do\n", m.from)
		return nil
	}
	if err := m.checkUnchanged(ctx); err != nil {
		return err
	}
	fmt.Printf("moves from Codex %s to %s\n", m.from, m.to)
	for _, version := range m.skipped {
		fmt.Printf("skips %s: only the conversations are tried with it\n", version)
	}
	if err := m.run(ctx); err != nil {
		return err
	}
	text, err := m.summary()
	if err != nil {
		return err
	}
	fmt.Print("\n", text)
	if file != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a text for all
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return m.failure()
}

// changed are the files and folders that a move changes.
var changed = []string{
	"bridge/methods", olderFile, "docs/internals/releases.md", "docs/reference/methods.md", namesFile, npmFolder,
	rangeFiles[0], rangeFiles[1], versionFile,
}

// olderFile has the names of the shapes that older releases have; see cmd/bridge-schema.
const olderFile = "cmd/bridge-schema/older.txt"

// checkUnchanged returns an error if the working tree has other changes to these files.
func (m *move) checkUnchanged(ctx context.Context) error {
	out, err := output(ctx, m.root, "git", append([]string{"status", "--porcelain", "--untracked-files=no", "--"}, changed...)...)
	if err == nil && out != "" {
		err = fmt.Errorf("commit these changes first, so that `git restore .` can undo the move:\n%s", out)
	}
	return err
}

// run takes all steps. The last ones are independent of each other, so all of them are tried.
func (m *move) run(ctx context.Context) error {
	defer func() {
		if m.release != nil {
			m.release.remove()
		}
	}()
	var patch []byte
	for _, s := range []struct {
		name string
		run  func() error
	}{
		{"install", func() (err error) { m.release, err = install(ctx, m.root, m.to); return err }},
		{"compare", func() (err error) { patch, err = m.compare(ctx); return err }},
		{"tables", func() error { return m.apply(ctx, patch) }},
		{"flags", func() error { return m.measureFlags(ctx) }},
		{"pin", func() error { return pin(ctx, m.root, m.to) }},
		{"setup", func() error { return setup(ctx, m.root, m.to) }},
		{"names", func() error {
			return errors.Join(addNames(m.root, m.names), moveRanges(m.root, m.from, m.to), moveVersion(m.root, m.from, m.to))
		}},
	} {
		if err := m.step(s.name, s.run); err != nil {
			done := "nothing is changed"
			if len(m.steps) > 3 {
				done = "`git restore .` takes back the steps before it"
			}
			return fmt.Errorf("the step %q failed, and %s: %w", s.name, done, err)
		}
	}
	_ = m.step("make schema", func() error { return m.schema(ctx) }) // the summary has the errors
	_ = m.step("conversations with "+m.to, func() error { return m.try(ctx, m.release) })
	for _, version := range m.skipped {
		_ = m.step("conversations with "+version, func() error {
			one, err := install(ctx, m.root, version)
			if err != nil {
				return err
			}
			defer one.remove()
			return m.try(ctx, one)
		})
	}
	return ctx.Err()
}

func (m *move) step(name string, run func() error) error {
	start := time.Now()
	err := run()
	s := step{name, time.Since(start).Round(time.Second), err}
	m.steps = append(m.steps, s)
	fmt.Printf("%s: %s\n", name, s.took)
	return err
}

// failure returns the errors of the steps.
func (m *move) failure() error {
	var errs []error
	for _, s := range m.steps {
		if s.err != nil {
			errs = append(errs, fmt.Errorf("the step %q failed: %w", s.name, s.err))
		}
	}
	return errors.Join(errs...)
}

// compare reads the names of the new release, and returns the patch of the tables.
func (m *move) compare(ctx context.Context) (patch []byte, err error) {
	work, err := scripted.Folder("bridge-releases-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if m.names, err = releasediff.Load(ctx, codex.Command{Path: m.release.native}, work); err != nil {
		return nil, err
	}
	if m.names.Version != m.to {
		return nil, fmt.Errorf("the program of %s says that it is %s", m.to, m.names.Version)
	}
	if why := m.names.Unread[release.PartMethods]; why != "" {
		return nil, fmt.Errorf("the schema can't be read: %s", why)
	}
	tested, err := release.Tested()
	if err != nil {
		return nil, err
	}
	if m.changes, err = releasediff.Compare(tested, m.names); err != nil {
		return nil, err
	}
	return releasediff.Patch(tested, m.names, m.changes)
}

func (m *move) apply(ctx context.Context, patch []byte) error {
	cmd := exec.CommandContext(ctx, "git", "apply", "-")
	cmd.Dir, cmd.Stdin = m.root, bytes.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git apply: %w\n%s", err, out)
	}
	return nil
}

// schema writes the files that cmd/bridge-schema makes. Its program has the changed tables.
func (m *move) schema(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/bridge-schema", "-write-older")
	cmd.Dir, cmd.Env = m.root, append(os.Environ(), codex.Env+"="+m.release.native)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(string(out)))
	}
	return nil
}

// try runs TestCanary with a release, and puts its row on the page.
func (m *move) try(ctx context.Context, one *installed) error {
	got, err := one.try(ctx, m.root)
	if err != nil {
		return err
	}
	m.rows = append(m.rows, got)
	return record(m.root, got)
}
