//go:build linux && amd64

// Command bridge-steps counts the instructions of the processor that the hot paths take, and
// fails when there are others than on record: a regression shows without a clock, on a
// machine with much to do as on an idle one.
//
//	go run ./cmd/bridge-steps [-record] [-where PATH]
//
// It runs in the root of the repository. What is counted is the program in paths, which it
// builds with the compiler that stands in the record: another one makes other instructions
// of the same lines. How it counts, and what that does not see: docs/design.md.
//
// Nothing may run it twice at once on the same record; counting itself disturbs nobody.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	paths    = "./cmd/bridge-steps/paths" // what is counted
	recorded = "testdata/steps/amd64.json"
)

type options struct {
	root   string
	record bool
	where  string // a path: say in which functions its instructions are
}

func main() {
	o := options{root: "."}
	flag.BoolVar(&o.record, "record", false, "put this tree's counts on record, with the Go at hand")
	flag.StringVar(&o.where, "where", "", "say where the instructions of this path are, and compare nothing")
	flag.Parse()
	err := run(os.Stdout, o)
	if flag.NArg() > 0 {
		err = fmt.Errorf("what is %q? all settings are flags, see -help", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bridge-steps:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, o options) (err error) {
	file := filepath.Join(o.root, recorded)
	before, err := readRecord(file)
	if err != nil && !o.record {
		return err
	}
	if o.record { // whatever there is, the rest of a merge say
		if before.Go, err = goAtHand(o.root); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "bridge-steps-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := build(o.root, dir, before.Go, paths)
	if err != nil {
		return err
	}
	if o.where != "" {
		c, err := p.count(o.where)
		if err == nil {
			c.where(out)
		}
		return err
	}
	now := record{Go: before.Go, Steps: make(map[string]int64)}
	for _, w := range p.walks {
		c, err := p.count(w.name)
		if err != nil {
			return err
		}
		now.Steps[w.name] = c.steps()
	}
	if err := table(out, p.walks, before, now); err != nil {
		return err
	}
	if o.record {
		return now.write(file)
	}
	return before.compare(now)
}
