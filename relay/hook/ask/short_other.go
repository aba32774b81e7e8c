//go:build unix && !linux

package ask

import (
	"errors"
	"strconv"
)

// shortened: there is no other name. A folder with a shorter path would have to lie
// where Codex's sandbox lets commands write, and with that put a bridge of their own.
func shortened(socket string, _ func(string) error) error {
	return errors.New(socket + " is longer than the " + strconv.Itoa(maxPath) +
		" bytes that the path of a socket may have; set CODEX_BRIDGE_STATE to a folder with a shorter path")
}
