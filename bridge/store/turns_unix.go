//go:build unix

package store

import "golang.org/x/sys/unix"

type lockMode int

const (
	tryLock     lockMode = unix.LOCK_EX | unix.LOCK_NB
	waitForLock lockMode = unix.LOCK_EX
	unlock      lockMode = unix.LOCK_UN
)

// lockFile locks or unlocks an open file. It fails on file systems without such locks.
func lockFile(fd uintptr, how lockMode) bool {
	for {
		if err := unix.Flock(int(fd), int(how)); err != unix.EINTR {
			return err == nil
		}
	}
}
