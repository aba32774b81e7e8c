// Command bridge-schema compares the method table with the installed Codex. It makes Codex print
// the schema of its protocol, stores the names in bridge/methods/schema.json and the forms of a
// client's messages in bridge/shape/codex.json, and writes docs/reference/methods.md from the
// table.
//
//	go run ./cmd/bridge-schema [-root DIR]
//
// It exits with status 1 and a list if Codex has a name without a row, or a row has a name that
// Codex lacks. It still writes the files, which show new names.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/methods"
)

func main() {
	root := flag.String("root", ".", "the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintln(os.Stderr, "bridge-schema: "+line)
		}
		os.Exit(1)
	}
}

func run(root string) error {
	path, err := codex.Find("codex")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := codex.LoadProtocol(ctx, codex.Command{Path: path})
	if err != nil {
		return err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	if err := enc.Encode(p); err != nil {
		return err
	}
	if err := write(filepath.Join(root, "bridge", "methods", "schema.json"), text.Bytes()); err != nil {
		return err
	}
	if err := write(filepath.Join(root, "docs", "reference", "methods.md"), methods.Markdown()); err != nil {
		return err
	}
	if err := writeShapes(ctx, root, codex.Command{Path: path}, p.Version); err != nil {
		return err
	}
	return check(p)
}

// writeShapes writes the forms of the client's messages.
func writeShapes(ctx context.Context, root string, c codex.Command, version string) error {
	dir, err := os.MkdirTemp("", "bridge-schema-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := c.WriteSchema(ctx, dir); err != nil {
		return err
	}
	t, err := shapes(dir, version)
	if err != nil {
		return fmt.Errorf("the format of Codex's schema has changed: %w", err)
	}
	text, err := encode(t)
	if err != nil {
		return err
	}
	return write(filepath.Join(root, "bridge", "shape", "codex.json"), text)
}

// check returns the differences between the table and Codex.
func check(p *codex.Protocol) error {
	var faults []error
	if p.Version != methods.Measured {
		faults = append(faults, fmt.Errorf("Codex has version %s; methods.Measured is %s", p.Version, methods.Measured))
	}
	for _, side := range methods.Sides() {
		unknown, gone := methods.Diff(side, p.Names(side))
		for _, name := range unknown {
			faults = append(faults, fmt.Errorf("%s %s: no row; add one to bridge/methods", side, name))
		}
		for _, name := range gone {
			faults = append(faults, fmt.Errorf("%s %s: Codex %s does not have it; remove the row", side, name, p.Version))
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
