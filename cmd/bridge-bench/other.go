//go:build !linux

// Command bridge-bench measures what the bridge costs. It needs Linux: the
// processor time and memory of another process come from there.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bridge-bench: runs on Linux only")
	os.Exit(1)
}
