package main

import (
	"net"
	"path/filepath"
	"runtime"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/relay/hook"
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
	home := guard.WorldOf(cfg.Codex).CodexHome
	if home == "" {
		return nil
	}
	socket := filepath.Join(home, controlSocket)
	if !isListening(socket) {
		return []finding{{"terminal", fine, "the terminal interface runs under the policy if codex-bridge starts it", ""}}
	}
	return []finding{{"terminal", warn, "a Codex daemon without this policy listens at " + socket,
		"end it with \"codex app-server daemon stop\", and start codex through codex-bridge"}}
}

// examineServe reports where clients share a Codex.
func examineServe(cfg *config.Config) []finding {
	if cfg.Serve.Mode == config.OwnCodex {
		return nil
	}
	socket, err := serveSocket(cfg)
	switch {
	case runtime.GOOS != "linux":
		return []finding{{"serve", warn, "clients have a Codex of their own, since the bridge can share one only on Linux", "remove serve.mode"}}
	case err != nil:
		return []finding{{"serve", broken, "the socket of codex-bridge serve is not known: " + err.Error(), "correct the reason, or remove serve.mode"}}
	case !hook.IsServed(socket):
		return []finding{{"serve", fine, "clients share a Codex at " + socket + ", which starts with the first one", ""}}
	}
	return []finding{{"serve", fine, "clients share a Codex at " + socket, ""}}
}

// isListening reports whether a process accepts connections at a socket, which may be a link.
func isListening(socket string) bool {
	path, err := filepath.EvalSymlinks(socket) // also shorter
	if err != nil {
		return false
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	return err == nil && conn.Close() == nil
}
