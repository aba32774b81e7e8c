package doctor

import (
	"errors"
	"path/filepath"
	"runtime"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/cmd/codex-bridge/internal/hub"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/hook"
)

// examineTerminal reports whether Codex's terminal interface is under the policy. A daemon is an
// app-server that is not.
func examineTerminal(cfg *config.Config) []finding {
	if cfg.Policy.Mode != config.Enforce {
		return nil
	}
	socket, err := hub.ControlSocketOf(cfg)
	if err != nil {
		return nil
	}
	served, err := hub.IsServed(cfg, socket)
	switch {
	case err != nil:
		return []finding{{"terminal", Warn, problem.Text(err), "end it, and start codex through codex-bridge"}}
	case served:
		return []finding{{"terminal", Fine, "each codex that uses a daemon uses codex-bridge serve, at " + socket, ""}}
	case cfg.Serve.ControlSocket:
		return []finding{{"terminal", Warn, "codex-bridge serve does not run: a codex that the bridge does not start runs without this policy", "run \"codex-bridge app-server daemon start\" when you log in"}}
	}
	return []finding{{"terminal", Fine, "the terminal interface runs under the policy if codex-bridge starts it", ""}}
}

// examineServe reports where clients share a Codex.
func examineServe(cfg *config.Config) []finding {
	if cfg.Serve.Mode == config.OwnCodex {
		return nil
	}
	workspace := hub.PolicyFolder(settings.Workspace())
	socket, err := hub.ServeSocket(cfg, workspace)
	where := socket
	if workspace != "" {
		where += ", with other clients to which " + filepath.Join(workspace, config.WorkspaceFile) + " applies"
	}
	switch {
	case runtime.GOOS != "linux":
		return []finding{{"serve", Warn, "clients have a Codex of their own, since the bridge can share one only on Linux", "remove serve.mode"}}
	case err != nil:
		return []finding{{"serve", Broken, "the socket of codex-bridge serve is not known: " + problem.Text(err), "correct the reason, or remove serve.mode"}}
	case !hook.IsServed(socket):
		return []finding{{"serve", Fine, "clients share a Codex at " + where + "; it starts with the first one, and the commands of all have the environment of that client", ""}}
	}
	if err := hub.CheckServe(socket); errors.As(err, new(*hub.UnresponsiveError)) {
		return []finding{{"serve", Broken, "the process that listens at " + socket + " does not answer, so clients can't join", "end it: \"ss -xlp src " + socket + "\" names it"}}
	}
	return []finding{{"serve", Fine, "clients share a Codex at " + where + "; the commands of all have the environment of the client that has started it", ""}}
}
