//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// trusted refuses a file that another user than root could have written. A group may: many
// systems give each user one of their own.
func trusted(info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return &untrustedError{fmt.Sprintf("it belongs to the user %d, and this is %d", stat.Uid, os.Geteuid()), "make it your own: chown it, or write a copy"}
	}
	if mode := info.Mode().Perm(); mode&0o002 != 0 {
		return &untrustedError{fmt.Sprintf("everybody may write it: its mode is %04o", mode), "chmod o-w it"}
	}
	return nil
}
