package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"syscall"
	"time"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/follow"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/serve"
)

const (
	// maxConnections is how many conversations Codex's terminal interface may have at once. Codex
	// 0.169 has three, and ends two of them after initialize.
	maxConnections = 16
	// turnsEnd is how long Codex may go on with turns when its terminal interface has ended.
	turnsEnd = 500 * time.Millisecond
	// terminalLogName is the name of the log in the state folder: stderr is the terminal.
	terminalLogName = "terminal.log"
	// tokenEnv is the variable with the token of the connection, except on Linux.
	tokenEnv = "CODEX_BRIDGE_TOKEN"
)

// Interactive runs Codex's terminal interface as a client of the bridge, on a private socket. On success
// it ends this process with Codex's exit status. The user reads notices there: stderr is behind its
// screen.
func Interactive(cfg *config.Config, line argv.Line, command codex.Command, notices []string, record *decisionlog.Log) error {
	// Before this check, commands may be able to replace the log by a link.
	if _, err := configured.Setup.NewGuard(cfg, nil, nil, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	program := codex.NewProgram(codex.Command{Path: command.Path, Args: cfg.Codex.Args, Env: command.Env})
	if err := program.RequireVersion(ctx, core.Enforceable(cfg)); err != nil {
		return err
	}
	if cfg.Serve.Mode != config.OwnCodex {
		socket, err := "", errUnshared
		if len(configured.Overrides(line, len(cfg.Codex.Args))) == 0 {
			socket, err = runningServe(cfg, PolicyFolder(settings.Workspace()))
		}
		switch {
		case err == nil:
			if err := record.Close(); err != nil {
				return err
			}
			command.Args = line.WithRemote("unix://" + socket)
			state, err := codex.RunInForeground(command, codex.Signals())
			if err != nil {
				return err
			}
			codex.ExitLike(state) // ends the process
		case cfg.Serve.Mode == config.MustJoin:
			return fmt.Errorf("serve.mode is %q: %w", config.MustJoin, err)
		default:
			output.PrintError("codex-bridge: Codex's terminal interface gets a Codex of its own: %v", err)
		}
	}
	file, err := store.OpenLog(terminalLogName)
	if err != nil {
		return fmt.Errorf("the log of Codex's terminal interface can't be written: %w", err)
	}
	defer file.Close()
	tail := new(output.LogTail) // not on stderr, which is the screen
	stderr := io.MultiWriter(file, tail)
	log := configured.LoggerTo(stderr, cfg)
	settings.WarnAbout(cfg, log)
	folder, err := configured.Setup.SocketFolder(guard.WorldOf(cfg.Codex))
	if err != nil {
		return err
	}
	listener, err := hook.ListenPrivate(folder, log)
	if err != nil {
		return fmt.Errorf("the socket for Codex's terminal interface can't be opened: %w", err)
	}
	record.Ship(cfg, log)
	h := New(cfg, settings.Workspace(), record, stderr, log)
	h.args, h.notices, h.turns = configured.Overrides(line, len(cfg.Codex.Args)), notices, turnsEnd
	if _, err := h.generation(); err != nil {
		return errors.Join(err, listener.Close())
	}
	go h.watch(ctx, configured.Files()) // ends with ctx
	endpoint := listener.Endpoint()
	var connected atomic.Bool
	server := serve.New(serve.Options{
		Converse: func(ctx context.Context, settings serve.Settings, client io.ReadWriter) error {
			connected.Store(true)
			return h.converse(ctx, settings, client)
		},
		Identity: h.identity,
		Token:    endpoint.Token, MaxConnections: maxConnections, Log: log,
	})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // ends with server.Close
	command.Args = line.WithRemote(endpoint.Address)
	if endpoint.Token != "" {
		command.Args = line.WithRemote(endpoint.Address, "--remote-auth-token-env", tokenEnv)
		command.Env = append(command.Env, tokenEnv+"="+endpoint.Token)
	}
	stop := codex.Signals()
	state, err := codex.RunInForeground(command, stop)
	go func() { // ends with the process
		<-stop
		signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // the next one ends the bridge
		h.kill()
	}()
	err = errors.Join(err, server.Close(), <-served, listener.Close())
	h.Close()
	if err = errors.Join(err, record.Close()); err != nil {
		return err
	}
	switch {
	case state.Success() && connected.Load():
		// Codex has just printed that the work continues, with a command that names the private socket. It prints
		// that for every app-server of another process, and no option changes it.
		output.PrintError("codex-bridge: What Codex says above about running work and how to reconnect does not hold here: the work has ended, and \"%s resume\" opens the task again.", filepath.Base(os.Args[0]))
	case state.Exited() && !state.Success():
		colours := regexp.MustCompile("\x1b\\[[0-9;]*m")
		fmt.Fprint(os.Stderr, follow.StripControls(colours.ReplaceAllString(tail.String(), "")))
	}
	codex.ExitLike(state) // ends the process
	return nil
}

// errUnshared is why Codex's terminal interface with overrides does not join codex-bridge serve: it sends
// none to the app-server.
var errUnshared = errors.New("overrides of the configuration are for one Codex, and codex-bridge serve shares its Codex")
