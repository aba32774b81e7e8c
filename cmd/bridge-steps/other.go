//go:build !linux || !amd64

// Command bridge-steps counts the instructions of the hot paths. It needs Linux on amd64:
// it has the processor stop behind each instruction, and knows that one's registers.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bridge-steps: counts on linux/amd64 only")
	os.Exit(1)
}
