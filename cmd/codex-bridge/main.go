// Command codex-bridge is a program that an editor starts in place of codex. It runs the
// real `codex app-server` behind a policy, and becomes the real codex for all other
// commands. See the README and docs/.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/hook"
)

// Exit statuses.
const (
	exitFailed   = core.ExitFailed
	exitConfig   = core.ExitConfig
	exitNotFound = core.ExitNotFound
)

func main() {
	args := os.Args[1:]
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	// Hooks come first, because Codex waits for one before each tool call. Most hook
	// processes end earlier, in relay/hook/ask. A copy of the bridge that is named codex
	// also runs its hooks: the real Codex has no command with --socket.
	if len(args) > 0 && args[0] == "hook" && (name != "codex" || slices.Contains(args, "--socket")) {
		os.Exit(hook.Run(args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if name != "codex" && len(args) > 0 {
		if isOwn(args) {
			os.Exit(runOwn(args))
		}
		if slices.Equal(args, []string{"--", "--help"}) { // Codex's own help
			args = args[1:]
		} else if err := checkWord(args); err != nil {
			os.Exit(report(err))
		}
	}
	if err := runAsCodex(args); err != nil {
		reportEvent(os.Stdout, args, err)
		os.Exit(report(err))
	}
}

// runAsCodex runs the real Codex with these arguments: app-server behind the proxy, exec and the
// terminal interface as its clients, other commands in place of this process. It returns nil only for a
// client that joined codex-bridge serve. An error may be the exit status.
func runAsCodex(args []string) error {
	cfg, err := config.LoadLenient(atStart(setup.StartFiles(configFiles())))
	if err != nil {
		return err
	}
	if isTrial() {
		cfg.Store.URL, cfg.Fleet.URL, cfg.Otel.Endpoint = "", "", ""
	}
	path, err := codex.Find(cfg.Codex.Command)
	if err != nil {
		return err
	}
	command := codex.Command{
		Path: path,
		Args: slices.Concat(cfg.Codex.Args, args),
		Env:  setup.CodexEnviron(cfg),
	}
	if err := settings.KeepTrustList(cfg); err != nil {
		return err
	}
	line := argv.Parse(command.Args)
	if isDaemonCommand(line) && replacesDaemon(cfg) {
		if done, err := runDaemonCommand(cfg, line); done {
			return err
		}
		return become(command)
	}
	record := newLedger(cfg)
	var notices []string
	if command.Args, notices, err = settings.ApplyArgs(cfg, command.Args, len(cfg.Codex.Args), record, logger(cfg)); err != nil {
		return err
	}
	line = argv.Parse(command.Args)
	if line.Proxy {
		settings.WarnAbout(cfg, logger(cfg))
		if done, err := joined(cfg, args, logger(cfg)); done {
			return errors.Join(err, record.Close())
		}
		return proxy(cfg, command, notices, record)
	}
	// No thread request follows that could be refused. A workspace file can also limit policy.commands.
	// Help and the version pass, because editors ask for them.
	if !line.Info || line.Generates() {
		if err := settings.RequireWorkspace(cfg); err != nil {
			return err
		}
		if err := requireBundle(cfg); err != nil {
			return err
		}
	}
	warnWorkspace(cfg)
	if cfg.Policy.Mode == config.Enforce && line.Interactive() {
		return interactive(cfg, line, command, notices, record)
	}
	if err := record.Close(); err != nil {
		return err
	}
	if cfg.Policy.Mode == config.Enforce && line.Exec() {
		return runExec(cfg, line, notices)
	}
	if line.Command == "queue" && replacesDaemon(cfg) { // it connects to the daemon (measured with Codex 0.169)
		socket, err := controlSocketOf(cfg)
		if err == nil {
			_, err = daemon{cfg, socket}.ensure()
		}
		if err != nil {
			return err
		}
	}
	return become(command)
}

// untilStopped calls f with a context that ends with a signal to stop, so that a command can remove its temporary
// files. The next such signal ends the process. After a signal, an error of f is a *signalError or wraps one:
// whatever failed, failed because of it.
func untilStopped(f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case sig := <-signals:
			cancel(&signalError{sig})
		case <-done:
		}
		signal.Stop(signals)
	}()
	err := f(ctx)
	close(done)
	stopped := (*signalError)(nil)
	if errors.As(context.Cause(ctx), &stopped) && err != nil && !errors.As(err, new(*signalError)) {
		err = stopped
	}
	cancel(nil)
	return err
}

// signalError means that a signal has stopped a command.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string {
	name, ok := map[os.Signal]string{os.Interrupt: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}[e.signal]
	if !ok {
		name = e.signal.String()
	}
	return "stopped by " + name
}

// become runs Codex in place of this process. It returns only an error.
func become(command codex.Command) error {
	code, err := codex.Become(command.Path, command.Args, command.Env)
	if err == nil {
		os.Exit(code)
	}
	return err
}

// status returns the exit status for an error.
func status(err error) int {
	if errors.As(err, new(*listenError)) {
		return exitConfig
	}
	return core.ExitStatus(err)
}
