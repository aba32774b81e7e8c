package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/serve"
)

// maxClients is how many clients may be connected at once.
const maxClients = 512

// ServeCmd is the command "codex-bridge serve".
type ServeCmd struct {
	Idle   time.Duration ` help:"End so long after the last client."`
	Listen []string      `placeholder:"URL" help:"Where clients connect, in place of serve.listen: unix://, unix://PATH or ws://IP:PORT."`

	Workspace string `placeholder:"FOLDER" help:"Apply all sections of this folder's policy files to all clients. Such a server is not in place of Codex's daemon."`
}

// Help describes how clients connect.
func (ServeCmd) Help() string {
	return `Clients connect as to "codex app-server --listen": for example "codex --remote unix://PATH". All use one Codex, so that several can work on one thread.
A client of ws:// needs the token in the file serve.token_file, as a bearer token.
Without --workspace, the policy files of workspaces apply to the threads in their folders; other sections of these files don't. It ends on SIGINT or SIGTERM.`
}

// Run serves clients until a signal comes.
func (c ServeCmd) Run(out io.Writer) error {
	if c.Workspace != "" && !filepath.IsAbs(c.Workspace) {
		return exit.UsageError("--workspace: the path is relative; give an absolute one")
	}
	if c.Workspace != "" {
		if _, err := exit.ExistingFolder("--workspace", c.Workspace); err != nil {
			return err
		}
	}
	cfg, err := config.LoadLenient(configured.AtStart(configured.Setup.StartFiles(configured.Setup.Files(c.Workspace))))
	if err != nil {
		return err
	}
	log, stderr := configured.Logger(cfg), io.Writer(os.Stderr)
	if c.Idle > 0 { // started by a client, which does not read stderr
		file, err := store.OpenLog(serveLogName)
		if err != nil {
			return err
		}
		defer file.Close()
		log, stderr = configured.LoggerTo(file, cfg), file
	}
	err = c.serve(cfg, out, stderr, log)
	if err != nil && c.Idle > 0 {
		log.Error("codex-bridge serve has ended", "error", err)
	}
	return err
}

func (c ServeCmd) serve(cfg *config.Config, out, stderr io.Writer, log *slog.Logger) (err error) {
	record := decisionlog.New(cfg)
	defer func() { err = errors.Join(err, record.Close()) }() // at last: Codex decides until it has ended
	record.Ship(cfg, log)
	settings.WarnAbout(cfg, log)
	if len(c.Listen) > 0 {
		cfg.Serve.Listen = c.Listen
	}
	stop := codex.Signals()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	controls := cfg.Serve.ControlSocket && c.Workspace == "" // a codex that the bridge does not start works in any folder
	h := New(cfg, c.Workspace, record, stderr, log)
	listeners, err := openListeners(cfg, c.Workspace, h.commandsHaveNetwork, log)
	if err != nil {
		return &ListenError{err}
	}
	started, ended := make(chan struct{}), make(chan error)
	var servers []*serve.Server
	start := func(l *hook.PrivateListener) {
		server := serve.New(serve.Options{
			Converse: h.converse, Identity: h.identity, Started: started, Token: l.Endpoint().Token, MaxConnections: maxClients, Log: log,
		})
		servers = append(servers, server)
		go func() { // ends with server.Close, or with the process
			select {
			case ended <- server.Serve(l):
			case <-ctx.Done():
			}
		}()
	}
	for _, l := range listeners {
		start(l) // from now on it answers those who look whether it does
	}
	closeAll := func() error {
		var closing sync.WaitGroup
		failures := make([]error, len(servers))
		for i, server := range servers {
			closing.Go(func() { failures[i] = errors.Join(listeners[i].Close(), server.Close()) })
		}
		closing.Wait()
		return errors.Join(failures...)
	}
	if _, err := h.generation(); err != nil { // the user sees an error at once, and not the first client
		return errors.Join(err, closeAll())
	}
	defer h.Close()
	var lost <-chan struct{}
	if controls { // at last, since another codex-bridge serve may lose it
		var l *hook.PrivateListener
		if l, lost, err = listenForCodex(cfg, log); err != nil {
			return errors.Join(&ListenError{fmt.Errorf("serve.control_socket: %w", err)}, closeAll())
		}
		listeners = append(listeners, l)
		start(l)
	}
	close(started)
	go h.current.WarnOutOfRange(ctx)
	go h.watch(ctx, configured.Setup.Files(c.Workspace))
	for _, l := range listeners {
		fmt.Fprintln(out, "listening on "+l.Endpoint().Address)
	}
	if f, ok := out.(*output.SafeWriter); ok {
		if err := f.Flush(); err != nil {
			return err
		}
	}
	var idle <-chan struct{}
	if c.Idle > 0 && !controls {
		idle = serve.Idle(ctx, c.Idle, servers)
	}
	for done := false; !done; {
		done = true
		select {
		case err = <-ended:
		case <-stop:
		case <-idle:
		case <-lost:
			done = false
			if isReplaced(cfg) {
				log.Warn("another codex-bridge serve has taken the control socket over; this one goes on with its clients")
				if c.Idle > 0 {
					idle = serve.Idle(ctx, c.Idle, servers)
				}
				lost = whenAbandoned(ctx, cfg)
				break
			}
			idle = nil
			var l *hook.PrivateListener
			var failed error
			if l, lost, failed = listenForCodex(cfg, log); failed != nil {
				log.Error("serve.control_socket: nothing of ours listens at the socket, and it can't be replaced; a codex that the bridge does not start may run without the policy", "error", failed)
				break
			}
			log.Warn("serve.control_socket: nothing listened at the socket, which was replaced")
			listeners = append(listeners, l)
			start(l)
		}
	}
	h.end() // no client starts Codex again
	cancel()
	return errors.Join(err, closeAll())
}

// isReplaced reports whether another codex-bridge serve listens where Codex's daemon would, under a policy
// if this one has one.
func isReplaced(cfg *config.Config) bool {
	socket, err := ControlSocketOf(cfg)
	if err != nil {
		return false
	}
	who, err := identify(socket)
	return err == nil && who.PID != os.Getpid() && (who.Enforces || cfg.Policy.Mode != config.Enforce)
}

// whenAbandoned returns a channel that is closed when the server that listened where Codex's daemon would has
// crashed: its socket is there, and nothing listens. One that ends in order removes it.
func whenAbandoned(ctx context.Context, cfg *config.Config) <-chan struct{} {
	abandoned := make(chan struct{})
	go func() { // ends with ctx
		for {
			socket, err := ControlSocketOf(cfg)
			if err == nil {
				_, err = os.Lstat(socket)
			}
			if err == nil && !isListening(socket) {
				close(abandoned)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(abandonedPoll):
			}
		}
	}()
	return abandoned
}

// abandonedPoll is how often a server looks whether the one that took its socket still listens.
const abandonedPoll = time.Second

// serveCommand returns the command that starts Codex under a configuration, with overrides of Codex's
// own. notices are for the user.
func serveCommand(cfg *config.Config, overrides []string, record *decisionlog.Log, log *slog.Logger) (command codex.Command, notices []string, err error) {
	if command.Path, err = codex.Find(cfg.Codex.Command); err != nil {
		return command, nil, err
	}
	command.Env = configured.Setup.CodexEnviron(cfg)
	command.Args, notices, err = settings.ApplyArgs(cfg, slices.Concat(cfg.Codex.Args, overrides, []string{argv.AppServer}), len(cfg.Codex.Args), record, log)
	return command, notices, err
}

// ListenError is the error of an address where clients can't connect.
type ListenError struct{ error }

// openListeners opens the listeners of serve.listen.
func openListeners(cfg *config.Config, workspace string, commandsHaveNetwork func() bool, log *slog.Logger) (all []*hook.PrivateListener, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeListeners(all))
		}
	}()
	for _, address := range cfg.Serve.Listen {
		l, err := openListener(cfg, workspace, address, commandsHaveNetwork, log)
		if err != nil {
			return all, fmt.Errorf("%s: %w", address, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// listenForCodex listens where Codex's daemon would. lost is closed when it no longer does.
func listenForCodex(cfg *config.Config, log *slog.Logger) (l *hook.PrivateListener, lost <-chan struct{}, err error) {
	socket, err := ControlSocketOf(cfg)
	if err != nil {
		return nil, nil, err
	}
	if len(socket) > maxSocketPath {
		return nil, nil, fmt.Errorf("the path %s has %d bytes, and clients of Codex connect to at most %d; set CODEX_HOME to a shorter one", socket, len(socket), maxSocketPath)
	}
	if err := os.Chmod(filepath.Dir(socket), 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // a folder; Codex's mode depends on the umask
		return nil, nil, err
	}
	check := func() error {
		who, err := identify(socket)
		switch {
		case err != nil && isListening(socket):
			return foreignDaemon(cfg, socket)
		case err == nil && who.Enforces && cfg.Policy.Mode != config.Enforce:
			return fmt.Errorf("process %d serves %s under an enforced policy, and this one enforces none", who.PID, socket)
		}
		return nil
	}
	return hook.TakeOver(socket, filepath.Join(filepath.Dir(socket), startupLock), check, log)
}

// startupLock is what Codex locks while its daemon starts (measured with Codex 0.169).
const startupLock = "app-server-startup.lock"

// maxSocketPath is the length in bytes that Linux allows.
const maxSocketPath = 107

// foreignDaemon is the error for a Codex daemon that listens where codex-bridge serve should.
func foreignDaemon(cfg *config.Config, socket string) error {
	program, err := codex.Find(cfg.Codex.Command)
	if err != nil {
		program = "codex"
	}
	return fmt.Errorf("a Codex daemon without this policy listens at %s; end it with \"%s app-server daemon stop\"", socket, program)
}

func closeListeners(all []*hook.PrivateListener) (err error) {
	for _, l := range all {
		err = errors.Join(err, l.Close())
	}
	return err
}

func openListener(cfg *config.Config, workspace, address string, commandsHaveNetwork func() bool, log *slog.Logger) (*hook.PrivateListener, error) {
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		if path == "" {
			var err error
			if path, err = ServeSocket(cfg, workspace); err != nil {
				return nil, err
			}
		}
		if !filepath.IsAbs(path) {
			return nil, errors.New("the path is relative; give an absolute one")
		}
		if socket, err := ControlSocketOf(cfg); err == nil && filepath.Clean(path) == filepath.Clean(socket) {
			return nil, errors.New("the socket of Codex's daemon; set serve.control_socket = true in place of this address")
		}
		return hook.ListenAt(path, log)
	}
	host, ok := strings.CutPrefix(address, "ws://")
	if _, _, err := net.SplitHostPort(host); !ok || err != nil {
		return nil, errors.New("not an address; give unix://, unix://PATH or ws://IP:PORT")
	}
	file := cfg.Serve.TokenFile
	if file == "" {
		folder, err := configured.Setup.SocketFolder(guard.WorldOf(cfg.Codex))
		if err != nil {
			return nil, err
		}
		file = filepath.Join(folder, settings.ServeToken)
	}
	return hook.ListenTCP(host, file, commandsHaveNetwork, log)
}

// watch applies changes of the configuration. It ends with ctx.
func (h *Hub) watch(ctx context.Context, files config.Options) {
	configured.Setup.Watch(ctx, files, h.config.Load(), h.log, h.reloaded, h.setPolicy, h.setConfig)
}
