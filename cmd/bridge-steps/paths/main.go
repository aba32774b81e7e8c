// Command paths walks one of the bridge's hot paths, once, between two breakpoints: it is
// the program whose instructions bridge-steps counts, and of no use without a tracer.
//
//	paths         prints the names of the paths, a line each, with what there is to count in each
//	paths NAME    walks one; the captures are found from the folder that it runs in
//
// All that is counted happens on the main thread, on which the main goroutine stays.
package main

import (
	"fmt"
	"os"
	"runtime"
)

func init() { runtime.LockOSThread() }

// path is a hot path. A walk does the same each time and can't fail: that it does what it
// should was tried before.
type path struct {
	name  string
	units int    // messages, say, in one walk
	unit  string // of them
	walk  func()
}

func main() {
	all, err := paths()
	if err == nil {
		err = run(all, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "paths:", err)
		os.Exit(1)
	}
}

func run(all []path, args []string) error {
	if len(args) == 0 {
		for _, p := range all {
			fmt.Printf("%s\t%d\t%s\n", p.name, p.units, p.unit)
		}
		return nil
	}
	for _, p := range all {
		if p.name == args[0] {
			walk(p)
			return nil
		}
	}
	return fmt.Errorf("there is no path %q", args[0])
}

// walk walks a path some times before, so that nothing that is counted is done for the
// first time: pools are filled, stacks have grown, expressions are compiled.
func walk(p path) {
	for range 3 {
		p.walk()
	}
	runtime.Breakpoint()
	p.walk()
	runtime.Breakpoint()
}

// paths are all of them.
func paths() ([]path, error) {
	var all []path
	for _, of := range []func() ([]path, error){passing, deciding, hooking, tracing} {
		some, err := of()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
