package ask

import "os"

var begun *Asking

// A hook's process asks from here: see the package's comment. What is more than silence,
// main has the rest of the program for.
func init() {
	if len(os.Args) < 2 || os.Args[1] != "hook" {
		return
	}
	flags, ok := exact(os.Args[2:])
	if !ok {
		return
	}
	begun = Start(flags, os.Stdin)
	if begun.Wait() && begun.silent() {
		os.Exit(0)
	}
}

// Begun is what was asked already, with all that there was on stdin; nil: nothing.
func Begun() *Asking { return begun }
