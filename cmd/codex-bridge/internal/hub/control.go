package hub

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/serve"
)

// controlSocket is where Codex's daemon listens, below Codex's own folder. Measured with Codex 0.169:
// a `codex` that the bridge does not start uses it, and starts a daemon if there is none.
var controlSocket = filepath.Join("app-server-control", "app-server-control.sock")

// ControlSocketOf returns the path of the socket.
func ControlSocketOf(cfg *config.Config) (string, error) {
	home := guard.WorldOf(cfg.Codex).CodexHome
	if home == "" {
		return "", errors.New("Codex's own folder is not known; set CODEX_HOME")
	}
	return filepath.Join(home, controlSocket), nil
}

// IsServed reports whether codex-bridge serve listens at a socket, with an enforced policy if cfg has one. The
// error is that of a Codex daemon.
func IsServed(cfg *config.Config, socket string) (bool, error) {
	who, err := identify(socket)
	if err != nil && isListening(socket) {
		return false, foreignDaemon(cfg, socket)
	}
	return err == nil && (who.Enforces || cfg.Policy.Mode != config.Enforce), nil
}

// identify asks the codex-bridge serve at a socket who it is.
func identify(socket string) (who serve.Identity, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), identifyTimeout)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return hook.DialPrivate(ctx, socket) }}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+serve.IdentityPath, nil)
	if err != nil {
		return who, err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return who, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return who, errors.New(response.Status)
	}
	return who, json.NewDecoder(response.Body).Decode(&who)
}

// identifyTimeout is how long a codex-bridge serve may take to say who it is.
const identifyTimeout = 5 * time.Second

// isListening reports whether a process accepts connections at a socket, which may be a link. A process that
// does not answer at once does.
func isListening(socket string) bool {
	path, err := filepath.EvalSymlinks(socket) // also shorter
	if err != nil {
		return false
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
	}
	return conn.Close() == nil
}
