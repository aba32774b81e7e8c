package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"codex-bridge/relay/hook/ask"
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
	return &PrivateListener{Listener: l, endpoint: Endpoint{Address: "unix://" + path}, release: release, check: checkPeer, folder: folder, log: log}, nil
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
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another codex-bridge serves %s", path), lock.Close())
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
	release := func() {
		_ = os.Remove(path)
		_ = lock.Close()
	}
	return &PrivateListener{Listener: l, endpoint: Endpoint{Address: "unix://" + path}, release: release, check: checkPeer, log: log}, nil
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
