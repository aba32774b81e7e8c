//go:build !linux

// Command bridge-bench measures the costs of the bridge. It needs Linux for the processor time and
// memory of other processes.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bridge-bench: runs on Linux only")
	os.Exit(1)
}
