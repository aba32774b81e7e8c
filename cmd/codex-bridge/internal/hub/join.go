package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/toml"
	"codex-bridge.example/rpc"
	"codex-bridge.example/serve"
)

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
	all, err := toml.Values("V = " + text)
	value := all["V"]
	if err != nil || strings.ContainsAny(text, "\n\r") {
		value = text
	}
	raw, err := json.Marshal(value)
	if _, isDate := value.(toml.Date); err != nil || isDate {
		return nil, errors.New("its value has no form in JSON")
	}
	return raw, nil
}

// joinOptions configure join.
type joinOptions struct {
	conn       *websocket.Conn // to codex-bridge serve
	in         io.Reader
	out        io.Writer
	maxMessage int // bytes of a message of the client
	// watch ends the context of join if codex-bridge serve does not answer. It returns with waiting, during which
	// the client waits for it.
	watch func(waiting context.Context)
}

// join copies messages between the client on in and out and codex-bridge serve. At the end of the client's
// input it waits for the responses. It returns at the end of the connection or of ctx, after an error for each
// request without a response.
func join(ctx context.Context, o joinOptions) error {
	o.conn.SetReadLimit(-1)
	stopped := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j := &joinedClient{ws: o.conn, watch: o.watch, ready: make(chan struct{})}
	sent := make(chan error, 1)
	go func() { // ends with the client, or with the process
		err := j.sendInput(ctx, o.in, o.out, o.maxMessage)
		if sent <- err; err != nil {
			time.AfterFunc(lastMessages, cancel) // messages of an ended server are read before its end
		}
	}()
	for {
		err := j.receive(ctx)
		if err == nil {
			continue
		}
		_ = o.conn.CloseNow()
		for _, id := range j.requests.end() {
			j.sink.WriteMessage(unanswered(id))
		}
		if stopped.Err() != nil {
			return context.Cause(stopped)
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
	watch func(waiting context.Context)
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
			if refused.Answers.IsValid() { // a question that would wait for ever
				if err := j.send(ctx, rpc.EncodeError(refused.Answers, refused.Err)); err != nil {
					return err
				}
			}
			continue
		case errors.Is(err, io.EOF):
			j.ended.Store(true)
			go j.watch(ctx)
			return j.ws.Write(ctx, websocket.MessageBinary, nil) // see serve.SettingsHeader
		case err != nil:
			return err
		}
		if late := j.requests.add(line); late.IsValid() {
			sink.WriteMessage(unanswered(late))
			continue
		}
		if err := j.send(ctx, bytes.TrimSpace(line)); err != nil {
			return err
		}
	}
}

// send sends a message. While codex-bridge serve does not take it, the end of the input is not seen.
func (j *joinedClient) send(ctx context.Context, message []byte) error {
	waiting, sent := context.WithCancel(ctx)
	defer sent()
	defer time.AfterFunc(serveCheck, func() { j.watch(waiting) }).Stop()
	return j.ws.Write(ctx, websocket.MessageText, message)
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
