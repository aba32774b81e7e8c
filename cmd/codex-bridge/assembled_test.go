//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/internal/scripted"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// withoutFeature names the part that a test runs without: the type of a feature, of the tap or of
// the user at the terminal, or a command.
const withoutFeature = "CODEX_BRIDGE_TEST_WITHOUT"

// request is a request that Codex received.
type request struct {
	Method string
	Params map[string]any
}

// assembled is the program's own assembly between a client and a Codex that the test plays.
type assembled struct {
	*bridgetest.Conversation
	t      *testing.T
	record *decisionlog.Log

	// answer answers a request with a result, or with an error message. It runs on one goroutine.
	answer func(r request) (result any, failed string)

	mu       sync.Mutex
	requests []request
	replies  map[string]json.RawMessage // of the client to Codex, by id
	replied  chan struct{}              // closed and replaced with each of them
	calls    int
}

// waitTime returns how long a test waits for a message: longer than a loaded machine needs, but
// short if a feature is missing.
func waitTime() time.Duration {
	if os.Getenv(withoutFeature) != "" {
		return time.Second
	}
	return 20 * time.Second
}

// newAssembled assembles the program with a configuration.
func newAssembled(t *testing.T, text string, answer func(request) (any, string)) *assembled {
	t.Helper()
	w := &assembled{t: t, answer: answer, replies: make(map[string]json.RawMessage), replied: make(chan struct{})}
	w.Conversation, w.record = assembleFor(t, text)
	go w.play()
	return w
}

// assembleFor assembles the program with a configuration, between a client and a scripted Codex.
func assembleFor(t *testing.T, text string) (*bridgetest.Conversation, *decisionlog.Log) {
	t.Helper()
	return assembleWithLog(t, text, slog.New(slog.DiscardHandler))
}

// assembleWithLog is assembleFor with another log.
func assembleWithLog(t *testing.T, text string, log *slog.Logger) (*bridgetest.Conversation, *decisionlog.Log) {
	t.Helper()
	user := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(user, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return assembleOptions(t, config.Options{User: user}, log)
}

// assembleOptions assembles the program with the files of a configuration.
func assembleOptions(t *testing.T, o config.Options, log *slog.Logger) (*bridgetest.Conversation, *decisionlog.Log) {
	t.Helper()
	folder := folderOutsideTemp(t)
	t.Setenv("CODEX_BRIDGE_STATE", filepath.Join(folder, "state"))
	t.Setenv("CODEX_HOME", folder)
	program := filepath.Join(folder, "codex")
	script := "#!/bin/sh\n[ \"$1\" = --version ] && exec echo codex-cli 0.169.0\n"
	if extraCodexSocket != "" { // the test also plays the additional Codex
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		script += fmt.Sprintf("%s='%s' exec '%s'\n", bridgetest.EnvSocket, extraCodexSocket, self)
	}
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(config.EnvConfig, o.User)
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	record := decisionlog.New(cfg)
	shared, err := assembly.NewShared(cfg, settings.Workspace(), codex.Command{Path: program}, record, log)
	if err != nil {
		t.Fatal(err)
	}
	a, err := assembly.New(shared, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	shared.Socket.Decide = func(ctx context.Context, call *hook.Call) hook.Answer { return a.Hooks.Decide(ctx, call, true) }
	go shared.WarnOutOfRange(ctx)
	go configured.Setup.Watch(ctx, configured.Files(), cfg, log, a.Hello.NotifyReloaded, func(p *policy.Policy) { shared.SetPolicy(ctx, a.Guard, p) }, shared.SetConfig, a.SetConfig)
	if out := os.Getenv(withoutFeature); out != "" && fmt.Sprintf("%T", a.Options.Observer) == out {
		a.Options.Observer = nil
	}
	a.Options.Features = slices.DeleteFunc(a.Options.Features, func(f bridge.Feature) bool { return fmt.Sprintf("%T", f) == os.Getenv(withoutFeature) })
	t.Cleanup(func() {
		a.CloseParts(shared.Parts()...)
		a.CloseState()
		cancel()
		if err := record.Close(); err != nil {
			t.Error(err)
		}
	})
	return bridgetest.StartAs(t, a.Options), record
}

// play answers as Codex until the conversation ends.
func (w *assembled) play() {
	for line := range w.CodexReceives() {
		m, err := rpc.ParseMessage([]byte(line))
		if err != nil {
			panic(err) // the proxy sends nothing else
		}
		if m.Method == "" {
			w.mu.Lock()
			w.replies[string(m.ID.Raw())] = json.RawMessage(line)
			close(w.replied)
			w.replied = make(chan struct{})
			w.mu.Unlock()
			continue
		}
		r := request{Method: m.Method}
		if m.Params.Exists() {
			if err := json.Unmarshal(m.Params.Raw(), &r.Params); err != nil {
				panic(err)
			}
		}
		if m.Kind != rpc.Request {
			continue
		}
		w.mu.Lock()
		w.requests = append(w.requests, r)
		w.mu.Unlock()
		result, failed := any(map[string]any{}), ""
		if m.Method != "initialize" {
			result, failed = w.answer(r)
		}
		if result == (exitCodex{}) {
			w.CodexEnds()
			return
		}
		said := map[string]any{"id": json.RawMessage(m.ID.Raw()), "result": result}
		if failed != "" {
			said = map[string]any{"id": json.RawMessage(m.ID.Raw()), "error": map[string]any{"code": -32600, "message": failed}}
		}
		w.notify(said)
		if after, ok := result.(responseThen); ok {
			after.then()
		}
	}
}

// exitCodex, as a result, ends Codex.
type exitCodex struct{}

// responseThen is a result and the messages that Codex sends after it.
type responseThen struct {
	result any
	then   func()
}

// MarshalJSON implements json.Marshaler.
func (f responseThen) MarshalJSON() ([]byte, error) { return json.Marshal(f.result) }

// notify sends a message from Codex.
func (w *assembled) notify(message any) {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	w.CodexSends(string(text))
}

// takeRequests returns the requests that Codex received since the last call.
func (w *assembled) takeRequests() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.requests
	w.requests = nil
	return all
}

// turnResponse returns the response to turn/start. One message of the model with this text and the
// end of the turn follow it.
func (w *assembled) turnResponse(thread, id, text string) any {
	return responseThen{map[string]any{"turn": map[string]any{"id": id}}, func() { w.endTurn(thread, id, text) }}
}

// endTurn ends a turn.
func (w *assembled) endTurn(thread, id, text string) {
	w.notify(map[string]any{"method": "turn/completed", "params": map[string]any{"threadId": thread, "turn": map[string]any{
		"id": id, "status": "completed", "items": []any{map[string]any{"type": "agentMessage", "id": "i", "text": text}},
	}}})
}

// initialize sends initialize of a client that knows the bridge, with more capabilities.
func (w *assembled) initialize(more map[string]any) {
	w.t.Helper()
	own := map[string]any{"version": 1}
	for name, v := range more {
		own[name] = v
	}
	if _, err := w.call("initialize", map[string]any{"capabilities": map[string]any{"bridge": own}}); err != nil {
		w.t.Fatal(err)
	}
	w.takeRequests()
}

// send sends a request of the client and returns its id for waitResponses.
func (w *assembled) send(method string, params any) string {
	w.t.Helper()
	w.calls++
	id := fmt.Sprintf("c%d", w.calls)
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		w.t.Fatal(err)
	}
	w.EditorSends(string(text))
	return id
}

// response is the response to a request of the client.
type response struct {
	result rpc.Value
	err    error
}

// waitResponses waits for the responses to requests by their ids. It drops all other messages
// before the last response; it does not record requests of Codex.
func (w *assembled) waitResponses(ids ...string) map[string]response {
	w.t.Helper()
	all := make(map[string]response)
	for len(all) < len(ids) {
		m := w.next()
		id, _ := m.Get("id").Text()
		if m.Get("method").Exists() || !slices.Contains(ids, id) {
			continue
		}
		a := response{result: m.Get("result")}
		if failed := m.Get("error"); failed.Exists() {
			var e struct {
				Code    rpc.Code
				Message string
			}
			if err := json.Unmarshal(failed.Raw(), &e); err != nil {
				w.t.Fatal(err)
			}
			a = response{err: rpc.Errorf(e.Code, "%s", e.Message)}
		}
		all[id] = a
	}
	return all
}

// next returns the next message that the client receives.
func (w *assembled) next() rpc.Value {
	w.t.Helper()
	select {
	case line, ok := <-w.EditorReceives():
		if !ok {
			w.t.Fatal("the proxy ended")
		}
		doc, err := rpc.ParseValue([]byte(line))
		if err != nil {
			w.t.Fatal(err)
		}
		return doc.Root()
	case <-time.After(waitTime()):
		w.t.Fatal("the client received nothing in time")
		return rpc.Value{}
	}
}

// waitNotification waits until the client receives a notification.
func (w *assembled) waitNotification(method string) rpc.Value {
	w.t.Helper()
	for {
		if m := w.next(); m.Get("method").Is(method) && !m.Get("id").Exists() {
			return m.Get("params")
		}
	}
}

// call sends a request of the client and returns its response.
func (w *assembled) call(method string, params any) (rpc.Value, error) {
	w.t.Helper()
	id := w.send(method, params)
	a := w.waitResponses(id)[id]
	return a.result, a.err
}

// must is call, and fails the test if the request fails.
func (w *assembled) must(method string, params any) rpc.Value {
	w.t.Helper()
	result, err := w.call(method, params)
	if err != nil {
		w.t.Fatalf("%s: %v", method, err)
	}
	return result
}

// askClient sends a request of Codex and returns the response of the client or the bridge; nil if
// none comes, which is an error of the test. Any goroutine may call it.
func (w *assembled) askClient(id, method string, params any) json.RawMessage {
	w.notify(map[string]any{"id": id, "method": method, "params": params})
	for late := time.After(waitTime()); ; {
		w.mu.Lock()
		reply, ok := w.replies[`"`+id+`"`]
		replied := w.replied
		w.mu.Unlock()
		if ok {
			return reply
		}
		select {
		case <-replied:
		case <-late:
			w.t.Errorf("%s is not answered", method)
			return nil
		}
	}
}

// withMethod returns the requests with a method.
func withMethod(all []request, method string) []request {
	return slices.DeleteFunc(slices.Clone(all), func(r request) bool { return r.Method != method })
}

// loadText loads a configuration as the program does.
func loadText(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	user := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(user, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(config.Options{User: user})
}

// folderOutsideTemp returns a folder that is not below the temporary folder, where sandboxed
// commands may write.
func folderOutsideTemp(t *testing.T) string {
	t.Helper()
	folder, err := scripted.Folder("codex-bridge-assembled-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}
