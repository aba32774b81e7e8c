//go:build unix && (!linux || portable) && !loopback

package ask

import (
	"errors"
	"strconv"
)

// CheckSocketPath returns an error if processes could not connect to a socket at this path. This system
// has no paths through descriptors. A second folder with a shorter path would be one where sandboxed
// commands can write, and so put a socket of their own.
func CheckSocketPath(socket string) error {
	if len(socket) <= maxSocketPath {
		return nil
	}
	return errors.New(socket + " is longer than the " + strconv.Itoa(maxSocketPath) +
		" bytes that the path of a socket may have; set CODEX_BRIDGE_STATE to a folder with a shorter path")
}

// descriptorPath returns the error of [CheckSocketPath].
func descriptorPath(socket string) (path string, release func(), err error) {
	return "", nil, CheckSocketPath(socket)
}
