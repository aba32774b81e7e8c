package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/coder/websocket"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
	"codex-bridge.example/serve"
)

const (
	// serveLogName is the name of the log of a codex-bridge serve that started by itself.
	serveLogName = "serve.log"
	// ownCodexEnv is the variable for an app-server that must not join: that of exec and doctor. An agent's
	// does not join either.
	ownCodexEnv = "CODEX_BRIDGE_OWN_CODEX"
	// serveStart is how long such a serve may take to listen.
	serveStart = time.Minute
)

// serveSocket returns the default socket of codex-bridge serve. A bridge with another configuration, home
// of Codex or version, or for another Codex, has another one.
func serveSocket(cfg *config.Config) (string, error) {
	world := guard.WorldOf(cfg.Codex)
	folder, err := socketFolder(world)
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
	text := world.CodexHome + "\x00" + config.Discover("").User
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

// harmlessFlags are those of app-server that do not change the configuration of a thread.
var harmlessFlags = []string{"--analytics-default-enabled", "--stdio"}

// sharedSettings returns what a client with these arguments of app-server sends to a shared Codex: its
// folder, and its overrides of Codex's configuration, as those of each of its threads. The error says why
// the client needs a Codex of its own.
//
// Measured with Codex 0.169: --enable counts after each -c, and --disable after each --enable.
func sharedSettings(args []string) (serve.Settings, error) {
	folder, err := os.Getwd()
	settings := serve.Settings{Folder: folder, Config: make(serve.Overrides)}
	if err != nil {
		return settings, err
	}
	items := argv.Parse(args).Items
	slices.SortStableFunc(items, func(a, b argv.Item) int {
		return slices.Index(featureFlags, a.Name) - slices.Index(featureFlags, b.Name)
	})
	for _, item := range items {
		switch {
		case item.State != argv.Valid:
			err = errors.New("its value is missing, or the flag is unknown")
		case item.Name == "--config":
			err = addOverride(settings.Config, item.Value)
		case slices.Contains(featureFlags, item.Name):
			settings.Config.Set("features."+item.Value, json.RawMessage(strconv.FormatBool(item.Name == "--enable")))
		case item.Name == "" || !slices.Contains(harmlessFlags, item.Name):
			err = errors.New("it is for one Codex, and codex-bridge serve shares its Codex")
		}
		if err != nil {
			return settings, fmt.Errorf("the argument %s: %w", strings.Join(args[item.At:item.At+item.Len], " "), err)
		}
	}
	return settings, nil
}

// featureFlags are the flags of features, in the order in which they count.
var featureFlags = []string{"--enable", "--disable"}

// addOverride adds KEY=VALUE of -c.
func addOverride(all serve.Overrides, text string) error {
	key, value, ok := strings.Cut(text, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return errors.New("it is not KEY=VALUE")
	}
	raw, err := jsonOf(strings.TrimSpace(value))
	if err == nil {
		all.Set(key, raw)
	}
	return err
}

// jsonOf returns the value of an override as JSON. As in Codex it is TOML, or else a text.
func jsonOf(text string) (json.RawMessage, error) {
	var value struct{ V any }
	if _, err := toml.Decode("V = "+text, &value); err != nil || strings.ContainsAny(text, "\n\r") {
		value.V = text
	}
	raw, err := json.Marshal(value.V)
	if _, isTime := value.V.(time.Time); err != nil || isTime {
		return nil, errors.New("its value has no form in JSON")
	}
	return raw, nil
}

// join copies messages between the client on in and out and codex-bridge serve. At the end of the client's
// input it waits for the responses. It returns at the end of the connection, after an error for each request
// without a response.
func join(ctx context.Context, ws *websocket.Conn, in io.Reader, out io.Writer, maxMessage int64) error {
	ws.SetReadLimit(-1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j := &joinedClient{ws: ws, ready: make(chan struct{})}
	sent := make(chan error, 1)
	go func() { // ends with the client, or with the process
		err := j.sendInput(ctx, in, out, int(maxMessage))
		if sent <- err; err != nil {
			time.AfterFunc(lastMessages, cancel) // messages of an ended server are read before its end
		}
	}()
	for {
		err := j.receive(ctx)
		if err == nil {
			continue
		}
		_ = ws.CloseNow()
		for _, id := range j.requests.end() {
			j.sink.WriteMessage(unanswered(id))
		}
		if j.ended.Load() {
			return nil
		}
		select {
		case err := <-sent:
			return err
		default:
			return fmt.Errorf("the connection to codex-bridge serve has ended: %w", err)
		}
	}
}

// lastMessages is how long messages are read after one could not be sent.
const lastMessages = 2 * time.Second

// joinedClient is a client that has joined codex-bridge serve.
type joinedClient struct {
	ws    *websocket.Conn
	ready chan struct{} // closed when sink is set
	sink  rpc.Sink
	ended atomic.Bool // the client's input

	requests joinedRequests
	start    [joinedStart]byte // of the message that is being received
}

// sendInput sends each message of the client, and then that none follows.
func (j *joinedClient) sendInput(ctx context.Context, in io.Reader, out io.Writer, maxMessage int) error {
	source, sink := rpc.DetectFraming(in, out, maxMessage)
	j.sink = sink
	close(j.ready)
	for {
		line, err := source.Next()
		var refused *rpc.MessageError
		switch {
		case errors.As(err, &refused):
			sink.WriteMessage(rpc.EncodeError(refused.ID, refused.Err))
			continue
		case errors.Is(err, io.EOF):
			j.ended.Store(true)
			return j.ws.Write(ctx, websocket.MessageBinary, nil) // see serve.SettingsHeader
		case err != nil:
			return err
		}
		if late := j.requests.add(line); late.IsValid() {
			sink.WriteMessage(unanswered(late))
			continue
		}
		if err := j.ws.Write(ctx, websocket.MessageText, bytes.TrimSpace(line)); err != nil {
			return err
		}
	}
}

// receive writes one message to the client, a long one in parts.
func (j *joinedClient) receive(ctx context.Context) error {
	_, message, err := j.ws.Reader(ctx)
	if err != nil {
		return err
	}
	select {
	case <-j.ready: // serve sends nothing before the client's first message
	case <-ctx.Done():
		return ctx.Err()
	}
	response, err := j.readStart(message)
	if err != nil {
		return err
	}
	if err := j.write(response.start, io.TeeReader(message, &response.end)); err != nil {
		return err
	}
	if response.id.IsValid() && response.end.reached {
		j.requests.remove(response.id)
	}
	return nil
}

// write writes a message to the client, whose start has been read.
func (j *joinedClient) write(start []byte, rest io.Reader) error {
	parts, ok := j.sink.(rpc.Streamer)
	if !ok {
		text, err := io.ReadAll(rest)
		if err == nil {
			j.sink.WriteMessage(slices.Concat(start, text))
			err = j.sink.Err()
		}
		return err
	}
	parts.BeginLine(start)
	_, err := io.Copy(continuedLine{parts}, rest)
	if err == nil {
		parts.ContinueLine([]byte("\n"))
	}
	parts.EndLine()
	return errors.Join(err, parts.Err())
}

// continuedLine writes parts of a line.
type continuedLine struct{ rpc.Streamer }

func (l continuedLine) Write(part []byte) (int, error) {
	l.ContinueLine(part)
	return len(part), nil
}

// dialServe connects to the socket of codex-bridge serve.
func dialServe(socket string, settings serve.Settings) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return hook.DialPrivate(ctx, socket) }}
	ws, response, err := websocket.Dial(ctx, "ws://localhost/", &websocket.DialOptions{ //nolint:bodyclose // see its documentation
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: settings.Header(),
	})
	if err != nil && response != nil {
		if why, _ := io.ReadAll(response.Body); len(why) > 0 { // its first kilobyte
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(why))
		}
	}
	return ws, err
}

// ensureServe starts codex-bridge serve unless it listens on the socket.
func ensureServe(cfg *config.Config, socket string) error {
	ctx, cancel := context.WithTimeout(context.Background(), serveStart)
	defer cancel()
	if hook.IsServed(socket) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// A thread whose client names no folder is refused there.
	state, err := store.Folder()
	if err == nil {
		err = store.EnsurePrivateFolder(state)
	}
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "serve", "--listen", "unix://"+socket, "--idle", time.Duration(cfg.Serve.Idle).String())
	// Under the name codex the command would be Codex's.
	cmd.Args[0] = "codex-bridge"
	cmd.Dir = state
	cmd.Env = codex.Environ(os.Environ(), nil, []string{depthEnv, ownCodexEnv, child.MarkName}) // the server is for all clients
	child.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with this process, if not before
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

// joined serves the client on stdin and stdout by codex-bridge serve, if serve.mode says so. done reports
// whether it did.
func joined(cfg *config.Config, args []string, log *slog.Logger) (done bool, err error) {
	if cfg.Serve.Mode == config.OwnCodex || os.Getenv(ownCodexEnv) != "" || nestingDepth() > 0 {
		return false, nil
	}
	ws, err := reachServe(cfg, args)
	if err != nil && cfg.Serve.Mode == config.Join {
		log.Warn("this client gets a Codex of its own", "reason", err)
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("serve.mode is %q: %w", config.MustJoin, err)
	}
	return true, join(context.Background(), ws, os.Stdin, os.Stdout, int64(cfg.Codex.MaxMessage))
}

// reachServe returns a connection to codex-bridge serve.
func reachServe(cfg *config.Config, args []string) (*websocket.Conn, error) {
	settings, err := sharedSettings(args)
	if err != nil {
		return nil, err
	}
	socket, err := runningServe(cfg)
	if err != nil {
		return nil, err
	}
	ws, err := dialServe(socket, settings)
	if err == nil {
		return ws, nil
	}
	time.Sleep(retryDelay) // it may have just ended, after its idle time
	if err := ensureServe(cfg, socket); err != nil {
		return nil, err
	}
	return dialServe(socket, settings)
}

// runningServe returns the socket of a running codex-bridge serve.
func runningServe(cfg *config.Config) (socket string, err error) {
	if socket, err = serveSocket(cfg); err != nil {
		return "", err
	}
	return socket, ensureServe(cfg, socket)
}

// retryDelay is the time in which a codex-bridge serve that ends releases its socket.
const retryDelay = 500 * time.Millisecond
