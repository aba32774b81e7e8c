// Command bridge-schema compares the tables of methods and features with the installed Codex. It
// stores the names that Codex has in bridge/methods/schema.json and the forms of a client's messages
// in bridge/methods/shapes.json, and writes docs/reference/methods.md from the table. Like
// `codex-bridge methods diff`, it prints the new names, each with a proposal.
//
//	go run ./cmd/bridge-schema [-root DIR] [-write-older]
//
// With -write-older it lists in older.txt all shapes that older releases have, and does not compare them with
// the list.
//
// It exits with status 1 and a list if Codex has a method or feature without a row, or a row has a
// name that Codex lacks. It still writes the files, which show new names.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/releasediff"
	"codex-bridge.example/cmd/internal/scripted"
)

func main() {
	root := flag.String("root", ".", "the repository")
	older := flag.Bool("write-older", false, "write older.txt")
	flag.Parse()
	if err := run(*root, *older); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintln(os.Stderr, "bridge-schema: "+line)
		}
		os.Exit(1)
	}
}

func run(root string, older bool) error {
	path, err := codex.Find("codex")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work, err := scripted.Folder("bridge-schema-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r, err := releasediff.Load(ctx, codex.Command{Path: path}, work)
	if err != nil {
		return err
	}
	if why := r.Unread[release.PartMethods]; why != "" {
		return fmt.Errorf("the schema of %s can't be read: %s", path, why)
	}
	tested, err := release.Tested()
	if err != nil {
		return err
	}
	changes, err := releasediff.Compare(tested, r)
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Println(c)
	}
	r.FillFrom(tested)
	text, err := r.Encode()
	if err != nil {
		return err
	}
	if err := write(filepath.Join(root, "bridge", "methods", "schema.json"), text); err != nil {
		return err
	}
	if err := write(filepath.Join(root, "docs", "reference", "methods.md"), methods.Markdown()); err != nil {
		return err
	}
	if err := writeShapes(root, filepath.Join(work, release.SchemaFolder), r.Version, older); err != nil {
		return err
	}
	return check(tested, r)
}

// writeShapes writes the forms of the client's messages, from the schema in a folder. It compares those of older
// releases with older.txt, or writes that.
func writeShapes(root, schema, version string, older bool) error {
	t, err := shapes(schema, version)
	if err != nil {
		return fmt.Errorf("the format of Codex's schema has changed: %w", err)
	}
	kept := keepOlder(t, methods.Shapes())
	text, err := encode(t)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(root, "bridge", "methods", "shapes.json"), text); err != nil {
		return err
	}
	if older {
		return write(filepath.Join(root, "cmd", "bridge-schema", "older.txt"), withOlder(olderTable, kept))
	}
	return checkOlder(olderTable, kept)
}

// check returns the differences between the tables and Codex, and the parts that could not be read.
// The keys of the configuration can be read on Linux only.
func check(tested, r *release.Release) error {
	var faults []error
	for _, part := range slices.Sorted(maps.Keys(r.Unread)) {
		if part == release.PartConfigKeys && runtime.GOOS != "linux" {
			continue
		}
		faults = append(faults, fmt.Errorf("the %s of Codex %s can't be read: %s", part, r.Version, r.Unread[part]))
	}
	if r.Version != methods.Measured {
		faults = append(faults, fmt.Errorf("Codex has version %s; methods.Measured is %s", r.Version, methods.Measured))
	}
	for _, side := range methods.Sides() {
		unknown, gone := methods.Diff(side, r.Names(side))
		for _, name := range unknown {
			faults = append(faults, fmt.Errorf("%s %s: no row; add one to bridge/methods", side, name))
		}
		for _, name := range gone {
			faults = append(faults, fmt.Errorf("%s %s: Codex %s does not have it; write the last release with it into until", side, name, r.Version))
		}
	}
	for _, name := range r.Enums[release.HookEvents] {
		if !slices.ContainsFunc(methods.HookEvents(), func(e methods.HookEvent) bool { return e.SchemaName() == name }) {
			faults = append(faults, fmt.Errorf("hook event %s: no row; add one to bridge/methods/hooks.txt", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Features)) {
		if was, is := tested.Features[name], r.Features[name]; was == "" {
			faults = append(faults, fmt.Errorf("feature %s: no row; add one to bridge/methods/features.txt", name))
		} else if was != is {
			faults = append(faults, fmt.Errorf("feature %s: it is %s, and %s in bridge/methods/features.txt", name, is, was))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tested.Features)) {
		if r.Features != nil && r.Features[name] == "" {
			faults = append(faults, fmt.Errorf("feature %s: Codex %s does not have it; write the last release with it into until", name, r.Version))
		}
	}
	return errors.Join(faults...)
}

func write(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	fmt.Println("writes", path)
	return os.WriteFile(path, text, 0o644)
}
