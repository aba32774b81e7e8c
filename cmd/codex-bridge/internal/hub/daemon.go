package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/relay/hook"
)

// IsDaemonCommand reports whether the line is a command of Codex about its daemon.
func IsDaemonCommand(line argv.Line) bool {
	return line.Command == argv.AppServer && (line.Second == "daemon" || line.Second == "proxy")
}

// ReplacesDaemon reports whether codex-bridge serve is in place of Codex's daemon: it should be, or it still
// is after a change of the configuration.
func ReplacesDaemon(cfg *config.Config) bool {
	socket, err := ControlSocketOf(cfg)
	if err != nil || cfg.Serve.ControlSocket {
		return cfg.Serve.ControlSocket
	}
	_, err = identify(socket)
	return err == nil
}

// RunDaemonCommand does what Codex does with its daemon. done is false for what Codex itself must do. The line
// must have no flags but those of the configuration: Codex would apply them to its daemon.
func RunDaemonCommand(cfg *config.Config, line argv.Line) (done bool, err error) {
	d, words := daemon{cfg: cfg}, line.Args[line.CommandAt+1:]
	if line.CommandAt != len(cfg.Codex.Args) { // flags before app-server: the line is refused with them
		words = line.Args[len(cfg.Codex.Args):]
	}
	if d.socket, err = ControlSocketOf(cfg); err != nil {
		return true, err
	}
	switch strings.Join(words, " ") {
	case "proxy":
		return true, d.proxy()
	case "daemon start":
		return true, d.start()
	case "daemon version":
		who, err := identify(d.socket)
		if err != nil {
			return true, fmt.Errorf("codex-bridge serve does not listen at %s: %w", d.socket, err)
		}
		return true, d.print("running", who.PID)
	case "daemon stop":
		if _, err := identify(d.socket); err != nil && isListening(d.socket) { // Codex's daemon
			return false, nil
		}
		return true, d.stop()
	case "daemon --help", "daemon -h", "daemon help":
		return false, nil
	}
	return true, exit.RefuseArgs(fmt.Sprintf("codex app-server %s: with serve.control_socket codex-bridge serve is in place of Codex's daemon. Its commands are start, stop and version", strings.Join(words, " ")))
}

// daemon is codex-bridge serve in place of Codex's daemon.
type daemon struct {
	cfg    *config.Config
	socket string
}

// ensure starts it unless it runs.
func (d daemon) ensure() (started bool, err error) {
	if served, err := IsServed(d.cfg, d.socket); served || err != nil {
		return false, err
	}
	own, err := runningServe(d.cfg, "")
	if err != nil {
		return false, err
	}
	// It listens there last, when Codex has started.
	for end := time.Now().Add(serveStart); hook.IsServed(own) && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if served, err := IsServed(d.cfg, d.socket); served || err != nil {
			return served, err
		}
	}
	return false, fmt.Errorf("codex-bridge serve does not listen at %s; end it with \"codex-bridge app-server daemon stop\", see %s in the state folder", d.socket, serveLogName)
}

// EnsureDaemon starts codex-bridge serve in place of Codex's daemon, unless it runs.
func EnsureDaemon(cfg *config.Config) error {
	socket, err := ControlSocketOf(cfg)
	if err == nil {
		_, err = daemon{cfg, socket}.ensure()
	}
	return err
}

func (d daemon) start() error {
	started, err := d.ensure()
	if err != nil {
		return err
	}
	who, err := identify(d.socket)
	if err != nil {
		return err
	}
	if started {
		return d.print("started", who.PID)
	}
	return d.print("alreadyRunning", who.PID)
}

// stop ends it, and waits for that. One that started without serve.control_socket has another socket only.
func (d daemon) stop() error {
	own, err := ServeSocket(d.cfg, "")
	if err != nil {
		return err
	}
	var ended []int
	for _, socket := range []string{d.socket, own} {
		who, err := identify(socket)
		if err != nil && hook.IsServed(socket) {
			return fmt.Errorf("the server at %s does not answer: %w", socket, err)
		}
		if err != nil || slices.Contains(ended, who.PID) {
			continue
		}
		process, err := os.FindProcess(who.PID)
		if err == nil {
			err = process.Signal(os.Interrupt)
		}
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		for end := time.Now().Add(serveStart); process.Signal(syscall.Signal(0)) == nil; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("codex-bridge serve, process %d, does not end", who.PID)
			}
		}
		ended = append(ended, who.PID)
	}
	if len(ended) == 0 {
		return d.print("notRunning", 0)
	}
	return d.print("stopped", ended[0])
}

// proxy copies bytes between this process and the socket.
func (d daemon) proxy() error {
	if _, err := d.ensure(); err != nil {
		return err
	}
	conn, err := hook.DialPrivate(context.Background(), d.socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() { // ends with the input, or with the process
		_, _ = io.Copy(conn, os.Stdin)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // the last answers follow
		}
	}()
	_, err = io.Copy(os.Stdout, conn)
	return err
}

// print prints the result as Codex does.
func (d daemon) print(status string, pid int) error {
	return json.NewEncoder(os.Stdout).Encode(struct {
		Status string `json:"status"`
		PID    int    `json:"pid,omitempty"`
		Socket string `json:"socketPath"`
	}{status, pid, d.socket})
}
