// Package launch runs the real Codex with Codex's own command line: app-server behind the proxy, exec and the terminal
// interface as clients of the bridge, other commands in place of this process.
package launch

import (
	"errors"
	"os"
	"slices"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/headless"
	"codex-bridge.example/cmd/codex-bridge/internal/hub"
	"codex-bridge.example/cmd/internal/settings"
)

// RunAsCodex runs the real Codex with these arguments: app-server behind the proxy, exec and the
// terminal interface as its clients, other commands in place of this process. It returns nil only for a
// client that joined codex-bridge serve. An error may be the exit status.
func RunAsCodex(args []string) error {
	cfg, err := config.LoadLenient(configured.AtStart(configured.Setup.StartFiles(configured.Files())))
	if err != nil {
		return err
	}
	if configured.IsTrial() {
		cfg.Store.URL, cfg.Fleet.URL, cfg.Otel.Endpoint = "", "", ""
	}
	path, err := codex.Find(cfg.Codex.Command)
	if err != nil {
		return err
	}
	command := codex.Command{
		Path: path,
		Args: slices.Concat(cfg.Codex.Args, args),
		Env:  configured.Setup.CodexEnviron(cfg),
	}
	if err := settings.KeepTrustList(cfg); err != nil {
		return err
	}
	line := argv.Parse(command.Args)
	if hub.IsDaemonCommand(line) && hub.ReplacesDaemon(cfg) {
		if done, err := hub.RunDaemonCommand(cfg, line); done {
			return err
		}
		return become(command)
	}
	record := decisionlog.New(cfg)
	var notices []string
	if command.Args, notices, err = settings.ApplyArgs(cfg, command.Args, len(cfg.Codex.Args), record, configured.Logger(cfg)); err != nil {
		return err
	}
	line = argv.Parse(command.Args)
	if line.Proxy {
		settings.WarnAbout(cfg, configured.Logger(cfg))
		if done, err := hub.Joined(cfg, args, configured.Logger(cfg)); done {
			return errors.Join(err, record.Close())
		}
		return Proxy(cfg, command, notices, record)
	}
	// No thread request follows that could be refused. A workspace file can also limit policy.commands.
	// Help and the version pass, because editors ask for them.
	if !line.Info || line.Generates() {
		if err := settings.RequireWorkspace(cfg); err != nil {
			return err
		}
		if err := configured.RequireBundle(cfg); err != nil {
			return err
		}
	}
	configured.WarnWorkspace(cfg)
	if cfg.Policy.Mode == config.Enforce && line.Interactive() {
		return hub.Interactive(cfg, line, command, notices, record)
	}
	if err := record.Close(); err != nil {
		return err
	}
	if cfg.Policy.Mode == config.Enforce && line.Exec() {
		return headless.RunExec(cfg, line, notices)
	}
	if line.Command == "queue" && hub.ReplacesDaemon(cfg) { // it connects to the daemon (measured with Codex 0.169)
		if err := hub.EnsureDaemon(cfg); err != nil {
			return err
		}
	}
	return become(command)
}

// become runs Codex in place of this process. It returns only an error.
func become(command codex.Command) error {
	code, err := codex.Become(command.Path, command.Args, command.Env)
	if err == nil {
		os.Exit(code)
	}
	return err
}
