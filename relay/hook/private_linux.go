package hook

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"

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
