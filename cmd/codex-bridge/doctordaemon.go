package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/serve"
)

// controlSocket is where Codex's daemon listens, below Codex's own folder. Measured with Codex 0.169:
// a `codex` that the bridge does not start uses it, and starts a daemon if there is none.
var controlSocket = filepath.Join("app-server-control", "app-server-control.sock")

// examineTerminal reports whether Codex's terminal interface is under the policy. A daemon is an
// app-server that is not.
func examineTerminal(cfg *config.Config) []finding {
	if cfg.Policy.Mode != config.Enforce {
		return nil
	}
	socket, err := controlSocketOf(cfg)
	if err != nil {
		return nil
	}
	served, err := isServed(cfg, socket)
	switch {
	case err != nil:
		return []finding{{"terminal", warn, problem.Text(err), "end it, and start codex through codex-bridge"}}
	case served:
		return []finding{{"terminal", fine, "each codex that uses a daemon uses codex-bridge serve, at " + socket, ""}}
	case cfg.Serve.ControlSocket:
		return []finding{{"terminal", warn, "codex-bridge serve does not run: a codex that the bridge does not start runs without this policy", "run \"codex-bridge app-server daemon start\" when you log in"}}
	}
	return []finding{{"terminal", fine, "the terminal interface runs under the policy if codex-bridge starts it", ""}}
}

// controlSocketOf returns the path of the socket.
func controlSocketOf(cfg *config.Config) (string, error) {
	home := guard.WorldOf(cfg.Codex).CodexHome
	if home == "" {
		return "", errors.New("Codex's own folder is not known; set CODEX_HOME")
	}
	return filepath.Join(home, controlSocket), nil
}

// isServed reports whether codex-bridge serve listens at a socket, with an enforced policy if cfg has one. The
// error is that of a Codex daemon.
func isServed(cfg *config.Config, socket string) (bool, error) {
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

// examineServe reports where clients share a Codex.
func examineServe(cfg *config.Config) []finding {
	if cfg.Serve.Mode == config.OwnCodex {
		return nil
	}
	workspace := policyFolder(settings.Workspace())
	socket, err := serveSocket(cfg, workspace)
	where := socket
	if workspace != "" {
		where += ", with other clients to which " + filepath.Join(workspace, config.WorkspaceFile) + " applies"
	}
	switch {
	case runtime.GOOS != "linux":
		return []finding{{"serve", warn, "clients have a Codex of their own, since the bridge can share one only on Linux", "remove serve.mode"}}
	case err != nil:
		return []finding{{"serve", broken, "the socket of codex-bridge serve is not known: " + problem.Text(err), "correct the reason, or remove serve.mode"}}
	case !hook.IsServed(socket):
		return []finding{{"serve", fine, "clients share a Codex at " + where + "; it starts with the first one, and the commands of all have the environment of that client", ""}}
	}
	if err := checkServe(socket); errors.As(err, new(*unresponsiveError)) {
		return []finding{{"serve", broken, "the process that listens at " + socket + " does not answer, so clients can't join", "end it: \"ss -xlp src " + socket + "\" names it"}}
	}
	return []finding{{"serve", fine, "clients share a Codex at " + where + "; the commands of all have the environment of the client that has started it", ""}}
}

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
