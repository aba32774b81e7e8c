//go:build unix && (!linux || portable) && !loopback

package ask

import (
	"errors"
	"strconv"
)

// descriptorPath returns an error: this system has no paths through descriptors. A
// second folder with a shorter path would be one where sandboxed commands can write, and so
// put a socket of their own.
func descriptorPath(socket string) (path string, release func(), err error) {
	return "", nil, errors.New(socket + " is longer than the " + strconv.Itoa(maxSocketPath) +
		" bytes that the path of a socket may have; set CODEX_BRIDGE_STATE to a folder with a shorter path")
}
