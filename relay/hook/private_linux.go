//go:build !portable && !loopback

package hook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"codex-bridge.example/relay/hook/ask"
)

// ListenPrivate listens on a socket in a private folder below folder. The caller must call Close.
func ListenPrivate(folder string, log *slog.Logger) (*PrivateListener, error) {
	l, folder, err := listenIn(folder, func(string) error { return nil })
	if err != nil {
		return nil, err
	}
	path, release, err := ask.ShortPath(filepath.Join(folder, socketName))
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.RemoveAll(folder))
	}
	private := newPrivateListener(l, Endpoint{Address: "unix://" + path}, checkPeer, release, log)
	private.folder = folder
	return private, nil
}

// ListenAt listens on a socket at path, whose folder must be private: it is created if it is missing. A
// socket whose server has ended is replaced. The caller must call Close.
func ListenAt(path string, log *slog.Logger) (*PrivateListener, error) {
	if err := makePrivateFolder(filepath.Dir(path), privateHint); err != nil {
		return nil, err
	}
	// The lock is kept until Close, or the end of the process. Its file stays: another process may hold it.
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	for i := 0; unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil; i++ {
		if i == 5 { // IsLocked takes the lock for a moment
			return nil, errors.Join(fmt.Errorf("another codex-bridge serves %s", path), lock.Close())
		}
		time.Sleep(10 * time.Millisecond)
	}
	err = ask.CheckOwner(path, fs.ModeSocket)
	if err == nil {
		err = os.Remove(path)
	}
	var l net.Listener
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		l, err = listen(path)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	own, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(err, l.Close(), lock.Close())
	}
	release := func() {
		if isAt(path, own) { // else the folder was removed, and another server has its socket here
			_ = os.Remove(path)
		}
		_ = lock.Close()
	}
	return newPrivateListener(l, Endpoint{Address: "unix://" + path}, checkPeer, release, log), nil
}

// TakeOver listens on a socket at path like ListenAt, also if another server listens there: that one goes on
// with the connections that it has, and at no time is there no server. While it has the lock, a file beside
// the socket, it asks check, whose error it returns. lost is closed when the path has another socket, or none.
// The caller must call Close.
func TakeOver(path, lock string, check func() error, log *slog.Logger) (l *PrivateListener, lost <-chan struct{}, err error) {
	if err := makePrivateFolder(filepath.Dir(path), privateHint); err != nil {
		return nil, nil, err
	}
	unlock, err := lockFile(lock)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	if err := check(); err != nil {
		return nil, nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSymlink {
		if err := ask.CheckOwner(path, fs.ModeSocket); err != nil {
			return nil, nil, err
		}
	}
	temporary := path + "." + rand.Text()[:8]
	listener, err := listen(temporary)
	if err != nil {
		return nil, nil, err
	}
	own, err := os.Lstat(temporary)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, listener.Close(), os.Remove(temporary))
	}
	isOwn := func() bool { return isAt(path, own) }
	closed, gone := make(chan struct{}), make(chan struct{})
	go func() { // ends with Close, or when the path has another socket
		for isOwn() {
			select {
			case <-closed:
				return
			case <-time.After(ownPoll):
			}
		}
		close(gone)
	}()
	release := func() {
		close(closed)
		if unlock, err := lockFile(lock); err == nil {
			defer unlock()
			if isOwn() {
				_ = os.Remove(path)
			}
		}
	}
	return newPrivateListener(listener, Endpoint{Address: "unix://" + path}, checkPeer, release, log), gone, nil
}

// isAt reports whether a path has a certain file.
func isAt(path string, file fs.FileInfo) bool {
	info, err := os.Lstat(path)
	return err == nil && os.SameFile(info, file)
}

// lockFile waits for a lock.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockTimeout); unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("another process holds the lock %s", path), file.Close())
		}
	}
	return func() { _ = file.Close() }, nil
}

// lockTimeout is how long another process may hold a lock: Codex does so until its daemon listens.
const lockTimeout = 10 * time.Second

// ownPoll is how often a server looks whether its socket is still at its path.
const ownPoll = time.Second

// IsLocked reports whether a process holds the lock of ListenAt for a path: it listens, or is about to.
func IsLocked(path string) bool {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer lock.Close()
	return unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

// DialPrivate connects to the socket of ListenAt.
func DialPrivate(ctx context.Context, path string) (net.Conn, error) {
	if err := ask.CheckOwner(path, fs.ModeSocket); err != nil {
		return nil, err
	}
	name, release, err := ask.ShortPath(path)
	if err != nil {
		return nil, err
	}
	defer release()
	return new(net.Dialer).DialContext(ctx, "unix", name)
}
