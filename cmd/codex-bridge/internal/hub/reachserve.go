package hub

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/coder/websocket"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/serve"
)

const (
	// serveLogName is the name of the log of a codex-bridge serve that started by itself.
	serveLogName = "serve.log"
	// serveStart is how long such a serve may take to listen, and then to start Codex.
	serveStart = time.Minute
	// serveCheck is how often a client looks whether the serve that it waits for still answers.
	serveCheck = time.Second
	// retryDelay is the time in which a codex-bridge serve that ends releases its socket.
	retryDelay = 500 * time.Millisecond
)

// PolicyFolder returns the innermost folder with a policy file for a client that starts in folder; "" if there
// is none. Clients with the same one have the same configuration.
func PolicyFolder(folder string) string {
	files := config.WorkspaceFiles(folder)
	if len(files) == 0 {
		return ""
	}
	return filepath.Dir(files[len(files)-1])
}

// ServeSocket returns the default socket of a codex-bridge serve that applies the policy files of the workspace;
// "" means none. A bridge with another configuration, state, home of Codex or version, or for another Codex, has
// another socket.
func ServeSocket(cfg *config.Config, workspace string) (string, error) {
	world := guard.WorldOf(cfg.Codex)
	folder, err := configured.Setup.SocketFolder(world)
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := codex.Find(cfg.Codex.Command)
	if err != nil {
		return "", err
	}
	state, err := statefolder.Path()
	if err != nil {
		return "", err
	}
	files := config.Discover("")
	text := world.CodexHome
	for _, path := range []string{files.User, files.Home, state, workspace} {
		text += "\x00" + path
	}
	for _, path := range []string{self, program} {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf("\x00%s\x00%d\x00%d", path, info.Size(), info.ModTime().UnixNano())
	}
	sum := sha256.Sum256([]byte(text))
	return filepath.Join(folder, "serve-"+hex.EncodeToString(sum[:6])+".sock"), nil
}

// Joined serves the client on stdin and stdout by codex-bridge serve, if serve.mode says so. done reports
// whether it did.
func Joined(cfg *config.Config, args []string, log *slog.Logger) (done bool, err error) {
	if cfg.Serve.Mode == config.OwnCodex || os.Getenv(settings.OwnCodexEnv) != "" || assembly.NestingDepth() > 0 {
		return false, nil
	}
	settings, err := sharedSettings(args)
	workspace := PolicyFolder(settings.Folder)
	var ws *websocket.Conn
	var socket string
	if err == nil {
		ws, socket, err = reachServe(cfg, workspace, settings)
	}
	if err != nil && cfg.Serve.Mode == config.Join {
		log.Warn("this client gets a Codex of its own", "reason", err)
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("serve.mode is %q: %w", config.MustJoin, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go watchPolicyFolder(ctx, cancel, settings.Folder, workspace)
	return true, join(ctx, joinOptions{
		conn: ws, in: os.Stdin, out: os.Stdout, maxMessage: int(cfg.Codex.MaxMessage),
		watch: func(waiting context.Context) { watchServe(waiting, cancel, socket) },
	})
}

// reachServe returns a connection to codex-bridge serve, and its socket.
func reachServe(cfg *config.Config, workspace string, settings serve.Settings) (ws *websocket.Conn, socket string, err error) {
	for try := range 2 {
		if try > 0 {
			time.Sleep(retryDelay) // it may have just ended, after its idle time
		}
		if socket, err = runningServe(cfg, workspace); err != nil {
			return nil, "", err
		}
		if ws, err = dialServe(socket, settings); err == nil || errors.As(err, new(*UnresponsiveError)) {
			break
		}
	}
	return ws, socket, err
}

// runningServe returns the socket of a running codex-bridge serve that applies the policy files of a folder.
func runningServe(cfg *config.Config, workspace string) (socket string, err error) {
	if cfg.Serve.ControlSocket && workspace != "" { // the server without a workspace has the socket of Codex's daemon
		if _, err := runningServe(cfg, ""); err != nil {
			return "", err
		}
	}
	if socket, err = ServeSocket(cfg, workspace); err != nil {
		return "", err
	}
	for try := range 2 {
		if try > 0 {
			time.Sleep(retryDelay) // as in reachServe
		}
		if err := ensureServe(cfg, workspace, socket); err != nil {
			return "", err
		}
		if err = CheckServe(socket); err == nil || errors.As(err, new(*UnresponsiveError)) {
			break
		}
	}
	return socket, err
}

// UnresponsiveError means that the process at a socket of codex-bridge serve accepts connections and does not
// answer, for example since it was stopped.
type UnresponsiveError struct{ socket string }

func (e *UnresponsiveError) Error() string {
	return fmt.Sprintf("codex-bridge serve does not answer at %s within %v; end the process that listens there", e.socket, identifyTimeout)
}

// CheckServe returns an error if no codex-bridge serve answers at a socket. It answers also while Codex starts.
func CheckServe(socket string) error {
	_, err := identify(socket)
	if errors.Is(err, context.DeadlineExceeded) {
		return &UnresponsiveError{socket}
	}
	return err
}

// watchServe calls end if the codex-bridge serve at a socket stops answering. It returns with ctx.
func watchServe(ctx context.Context, end context.CancelCauseFunc, socket string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(serveCheck):
		}
		if err := CheckServe(socket); errors.As(err, new(*UnresponsiveError)) {
			end(err)
			return
		}
	}
}

// watchPolicyFolder calls end if a policy file appears that applies to a client that starts in folder, and that
// the server of workspace does not read. It returns with ctx.
func watchPolicyFolder(ctx context.Context, end context.CancelCauseFunc, folder, workspace string) {
	if real, err := filepath.EvalSymlinks(folder); err == nil { // a command may replace a link to it
		folder = real
	}
	for {
		if found := PolicyFolder(folder); len(found) > len(workspace) {
			file := filepath.Join(found, config.WorkspaceFile)
			if _, err := os.Lstat(file); err == nil {
				end(fmt.Errorf("the policy file %s is new, and the shared Codex was joined without it; start codex-bridge again", file))
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(serveCheck):
		}
	}
}

// dialServe connects to the socket of codex-bridge serve, and waits while Codex starts.
func dialServe(socket string, settings serve.Settings) (*websocket.Conn, error) {
	ctx, end := context.WithTimeout(context.Background(), serveStart)
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go watchServe(ctx, cancel, socket)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return hook.DialPrivate(ctx, socket) }}
	ws, response, err := websocket.Dial(ctx, "ws://localhost/", &websocket.DialOptions{ //nolint:bodyclose // see its documentation
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: settings.Header(),
	})
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil && response != nil {
		if why, _ := io.ReadAll(response.Body); len(why) > 0 { // its first kilobyte
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(why))
		}
	}
	return ws, err
}

// serveFolder returns the folder in which the shared server and its Codex start: an empty one in the state folder. A
// thread whose client names no folder is refused there. A command/exec without a cwd works there, and with
// workspace-write can write only this folder, not the state around it.
func serveFolder() (string, error) {
	state, err := statefolder.Path()
	if err == nil {
		err = statefolder.Ensure(state)
	}
	if err != nil {
		return "", err
	}
	start := filepath.Join(state, "start")
	return start, statefolder.Ensure(start)
}

// ensureServe starts codex-bridge serve for a workspace unless it listens on the socket.
func ensureServe(cfg *config.Config, workspace, socket string) error {
	ctx, cancel := context.WithTimeout(context.Background(), serveStart)
	defer cancel()
	if hook.IsServed(socket) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	start, err := serveFolder()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "serve", "--listen", "unix://"+socket, "--idle", time.Duration(cfg.Serve.Idle).String())
	if workspace != "" {
		cmd.Args = append(cmd.Args, "--workspace", workspace)
	}
	// Under the name codex the command would be Codex's.
	cmd.Args[0] = "codex-bridge"
	cmd.Dir = start
	cmd.Env = codex.Environ(os.Environ(), nil, []string{assembly.DepthEnv, settings.OwnCodexEnv, child.MarkName}) // the server is for all clients
	child.Detach(cmd)
	if err := child.Start(cmd); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait(cmd) }() // ends with this process, if not before
	failure := errors.New("codex-bridge serve does not listen")
	for {
		select {
		case err := <-ended:
			failure = fmt.Errorf("codex-bridge serve has ended: %w", err)
			if !hook.IsLocked(socket) && !hook.IsServed(socket) {
				cancel() // else another one was faster, and is about to listen
			}
		case <-ctx.Done():
			return fmt.Errorf("%w; see %s in the state folder", failure, serveLogName)
		case <-time.After(20 * time.Millisecond):
			if hook.IsServed(socket) {
				return nil
			}
		}
	}
}
