package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"codex-bridge/bridge/argv"
	"codex-bridge/bridge/child"
	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/store"
	"codex-bridge/cmd/codex-bridge/internal/follow"
	"codex-bridge/relay/hook"
	"codex-bridge/serve"
)

const (
	// maxConnections is how many conversations Codex's terminal interface may have at once. Codex
	// 0.169 has three, and ends two of them after initialize.
	maxConnections = 16
	// terminalLogName is the name of the log in the state folder: stderr is the terminal.
	terminalLogName = "terminal.log"
	// tokenEnv is the variable with the token of the connection, except on Linux.
	tokenEnv = "CODEX_BRIDGE_TOKEN"
	// noticesEnv is the variable with the sentences about removed arguments, a JSON array, for the
	// bridge of a connection.
	noticesEnv = "CODEX_BRIDGE_NOTICES"
	// maxTerminalNotices bounds the size of noticesEnv.
	maxTerminalNotices = 50
)

// interactive runs Codex's terminal interface as a client of the bridge: it connects to a private
// socket, and each of its connections gets an app-server behind the policy. On success it ends this
// process with Codex's exit status. The user reads notices there: stderr is behind its screen.
func interactive(cfg *config.Config, line argv.Line, command codex.Command, notices []string) error {
	// The bridge of each connection checks it again, but its error would come after Codex's own. Before
	// the check, commands may be able to replace the log by a link.
	if _, err := newGuard(cfg, nil, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	program := codex.NewProgram(codex.Command{Path: command.Path, Args: cfg.Codex.Args, Env: command.Env})
	if err := program.RequireVersion(ctx, enforceable(cfg)); err != nil {
		return err
	}
	if cfg.Serve.Mode != config.OwnCodex {
		socket, err := "", errUnshared
		if len(overrides(line, len(cfg.Codex.Args))) == 0 {
			socket, err = runningServe(cfg)
		}
		switch {
		case err == nil:
			command.Args = line.WithRemote("unix://" + socket)
			state, err := codex.RunInForeground(command, codex.Signals())
			if err != nil {
				return err
			}
			codex.ExitLike(state) // ends the process
		case cfg.Serve.Mode == config.MustJoin:
			return fmt.Errorf("serve.mode is %q: %w", config.MustJoin, err)
		default:
			fmt.Fprintf(os.Stderr, "codex-bridge: Codex's terminal interface gets a Codex of its own: %v\n", err)
		}
	}
	file, err := store.OpenLog(terminalLogName)
	if err != nil {
		return fmt.Errorf("the log of Codex's terminal interface can't be written: %w", err)
	}
	defer file.Close()
	tail := new(logTail) // not on stderr, which is the screen
	log := io.MultiWriter(file, tail)
	handler := slog.NewTextHandler(log, nil)
	folder, err := socketFolder(guard.WorldOf(cfg.Codex))
	if err != nil {
		return err
	}
	listener, err := hook.ListenPrivate(folder, slog.New(handler))
	if err != nil {
		return fmt.Errorf("the socket for Codex's terminal interface can't be opened: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	env := environWithNotices(notices)
	endpoint := listener.Endpoint()
	var connected atomic.Bool
	server := serve.New(serve.Options{
		Start: func(serve.Settings) (serve.Conversation, error) {
			connected.Store(true)
			c, err := child.Open(slices.Concat([]string{self}, overrides(line, len(cfg.Codex.Args)), []string{argv.AppServer}), "", env, log)
			if err != nil {
				return nil, err
			}
			return appServerProcess{c, 2 * time.Duration(cfg.Codex.ShutdownGrace)}, nil
		},
		Token: endpoint.Token, MaxMessage: int64(cfg.Codex.MaxMessage), MaxConnections: maxConnections, Log: slog.New(handler),
	})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // ends with server.Close
	command.Args = line.WithRemote(endpoint.Address)
	if endpoint.Token != "" {
		command.Args = line.WithRemote(endpoint.Address, "--remote-auth-token-env", tokenEnv)
		command.Env = append(command.Env, tokenEnv+"="+endpoint.Token)
	}
	state, err := codex.RunInForeground(command, codex.Signals())
	signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // they end a bridge that waits for its app-servers
	err = errors.Join(err, server.Close(), <-served, listener.Close())
	if err != nil {
		return err
	}
	switch {
	case state.Success() && connected.Load():
		// Codex has just said that the work continues, and named the private socket to reach it.
		fmt.Fprintf(os.Stderr, "codex-bridge: Codex's app-server has ended with its terminal interface, so no work continues. To resume, run \"%s resume\".\n", filepath.Base(os.Args[0]))
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

// environWithNotices returns the environment of a bridge that shows the sentences to its client.
func environWithNotices(notices []string) []string {
	env := append(os.Environ(), ownCodexEnv+"=1")
	if text, err := json.Marshal(notices[:min(len(notices), maxTerminalNotices)]); err == nil && len(notices) > 0 {
		env = append(env, noticesEnv+"="+string(text))
	}
	return env
}

// terminalNotices returns the sentences about arguments that were removed before the terminal interface
// started; none for another client.
func terminalNotices() (notices []string) {
	_ = json.Unmarshal([]byte(os.Getenv(noticesEnv)), &notices)
	return notices
}

// appServerProcess is the conversation of one connection: a bridge of its own.
type appServerProcess struct {
	*child.Session
	grace time.Duration
}

// Close implements serve.Conversation. The bridge ends its Codex within the grace.
func (p appServerProcess) Close() error { return p.End(context.Background(), p.grace) }

// overrides returns the overrides of Codex's configuration before the command, which its app-server
// would get without --remote. The first fromConfig arguments are those of every app-server.
func overrides(line argv.Line, fromConfig int) (args []string) {
	for _, item := range line.Items {
		if item.At >= fromConfig && slices.Contains([]string{"--config", "--enable", "--disable"}, item.Name) {
			args = append(args, item.Name, item.Value)
		}
	}
	return args
}
