//go:build unix && !linux

package ask

import (
	"errors"
	"strconv"
)

// withDescriptorPath returns an error: this system has no paths through descriptors. A
// second folder with a shorter path would be one where sandboxed commands can write, and so
// put a socket of their own.
func withDescriptorPath(socket string, _ func(string) error) error {
	return errors.New(socket + " is longer than the " + strconv.Itoa(maxSocketPath) +
		" bytes that the path of a socket may have; set CODEX_BRIDGE_STATE to a folder with a shorter path")
}
