//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/lifecycle/image"
	"codex-bridge.example/rpc"
)

// extraCodexSocket is the socket of the test for each additional Codex; "" for none.
var extraCodexSocket string

// serveExtraCodex plays each Codex that the bridge starts besides the one of the conversation.
// answer gets a request, and sends earlier messages with tell.
func serveExtraCodex(t *testing.T, answer func(r request, tell func(any)) any) {
	t.Helper()
	folder, err := os.MkdirTemp("", "beside")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	extraCodexSocket = path
	var all sync.WaitGroup
	all.Go(func() { // ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				playExtraCodex(conn, answer)
			})
		}
	})
	t.Cleanup(func() {
		extraCodexSocket = ""
		err := listener.Close()
		all.Wait()
		if err = errors.Join(err, os.RemoveAll(folder)); err != nil {
			t.Error(err)
		}
	})
}

// delayed is a later result: it gets the function that sends it.
type delayed func(reply func(result any))

// failure is an error instead of a result.
type failure struct{ message string }

// playExtraCodex plays one additional Codex until the bridge ends it.
func playExtraCodex(conn net.Conn, answer func(r request, tell func(any)) any) {
	tell := func(message any) {
		line, err := json.Marshal(message)
		if err != nil {
			panic(err)
		}
		_, _ = conn.Write(append(line, '\n')) // the bridge may have ended
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params map[string]any
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		reply := func(result any) {
			if e, ok := result.(failure); ok {
				tell(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32603, "message": e.message}})
				return
			}
			tell(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
		}
		switch {
		case m.Method == "": // a response
			answer(request{Params: map[string]any{"id": string(m.ID), "line": lines.Text()}}, tell)
		case m.ID == nil && m.Method == "initialized":
		case m.ID == nil:
			answer(request{m.Method, m.Params}, tell)
		case m.Method == "initialize": // with the agent's answer
			reply(map[string]any{"protocolVersion": 1, "agentCapabilities": map[string]any{"loadSession": true}, "authMethods": []any{}})
		default:
			result := answer(request{m.Method, m.Params}, tell)
			if keep, ok := result.(delayed); ok {
				keep(reply)
				continue
			}
			reply(result)
		}
	}
}

type imageCase struct {
	Name  string
	Input struct {
		Model, Prompt *string
		Models        []json.RawMessage
		TimeoutMs     float64
		Images        []json.RawMessage
		StartTurn     map[string]any
		Notify        []map[string]any
	}
	Seed struct {
		Result   *image.Result
		Error    string
		Requests []request
	}
}

// sent returns a request without the differences of the bridge; see DEVIATIONS.md. All images are
// equal.
func (c imageCase) sent(r request) request {
	if _, ok := r.Params["approvalPolicy"]; ok {
		r.Params["approvalPolicy"] = "untrusted"
	}
	if cwd, _ := r.Params["cwd"].(string); filepath.IsAbs(cwd) {
		r.Params["cwd"] = "/agent"
	}
	if r.Method == "thread/start" {
		for _, name := range []string{"modelProvider", "experimentalRawEvents", "persistExtendedHistory", "config", "approvalsReviewer"} {
			delete(r.Params, name)
		}
		if text, _ := r.Params["developerInstructions"].(string); text != "" {
			r.Params["developerInstructions"] = "<non-empty>"
		}
		r.Params["serviceName"] = "codex-bridge"
	}
	input, _ := r.Params["input"].([]any)
	for _, v := range input {
		item := v.(map[string]any)
		if words, ok := item["text"].(string); ok {
			item["text"] = strings.ReplaceAll(words, "Describe the image.", "Describe what the image shows.")
		}
		if url, ok := item["url"].(string); ok && strings.HasPrefix(url, "data:image/") {
			item["url"] = pixel
		}
	}
	return r
}

// requested returns a text in the first request with this method, or else another text.
func (c imageCase) requested(method, member, otherwise string) string {
	for _, r := range withMethod(c.Seed.Requests, method) {
		if text, ok := r.Params[member].(string); ok {
			return text
		}
	}
	return otherwise
}

// turn returns the id of the turn on a thread, and whether it ends.
func (c imageCase) turn(t *testing.T, thread string) (id string, ends bool) {
	id = "tu"
	for _, n := range c.Input.Notify {
		var of collectorNotification
		if err := json.Unmarshal([]byte(text(t, n)), &of); err != nil {
			t.Fatal(err)
		}
		if in, turn := of.about(); in == thread && turn != "" {
			id, ends = turn, ends || of.Method == "turn/completed"
		}
	}
	if own, ok := c.Input.StartTurn["id"].(string); ok {
		id = own
	}
	status, _ := c.Input.StartTurn["status"].(string)
	return id, ends || status != "" && status != "inProgress"
}

func TestImageWorkerVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "image_worker.json", "cases", func(t *testing.T, c imageCase) { c.play(t) })
}

func (c imageCase) play(t *testing.T) {
	var mu sync.Mutex
	made := []request{}
	thread := c.requested("turn/start", "threadId", "th")
	turnID, ends := c.turn(t, thread)
	model := c.requested("thread/start", "model", "gpt-5.5")
	serveExtraCodex(t, func(r request, tell func(any)) any {
		if r.Method == "model/list" || r.Method == "thread/start" || r.Method == "turn/start" {
			mu.Lock()
			made = append(made, c.sent(r))
			mu.Unlock()
		}
		switch r.Method {
		case "model/list":
			if c.Input.Models != nil {
				return map[string]any{"data": c.Input.Models}
			}
			return map[string]any{"data": []any{map[string]any{"id": model, "model": model, "inputModalities": []string{"text", "image"}}}}
		case "config/read": // see DEVIATIONS.md: the other implementation starts the user's servers
			return map[string]any{"config": map[string]any{"mcp_servers": map[string]any{"a.b": map[string]any{}}}}
		case "thread/start":
			return map[string]any{"thread": map[string]any{"id": thread}, "sandbox": map[string]any{"type": "readOnly"}}
		case "turn/start":
			for _, n := range c.Input.Notify {
				tell(n)
			}
			turn := map[string]any{"id": turnID, "status": "inProgress", "items": []any{}}
			for name, v := range c.Input.StartTurn {
				turn[name] = v
			}
			return map[string]any{"turn": turn}
		}
		t.Errorf("unexpected request %s", r.Method)
		return map[string]any{}
	})
	w := newAssembled(t, "", func(request) (any, string) { return map[string]any{}, "" })
	w.initialize(nil)
	p := map[string]any{"model": model}
	if c.Input.Model != nil {
		p["model"] = *c.Input.Model
	}
	if c.Input.Prompt != nil {
		p["prompt"] = *c.Input.Prompt
	}
	late := !ends && len(withMethod(c.Seed.Requests, "turn/start")) > 0
	if late && c.Input.TimeoutMs > 0 { // the others get the time that a loaded machine needs
		// The time includes the start of Codex.
		p["timeoutMs"] = c.Input.TimeoutMs + 1500
		if c.Input.TimeoutMs < 100 {
			p["timeoutMs"] = c.Input.TimeoutMs
		}
	}
	var images []any
	for range max(1, len(c.Input.Images)) {
		images = append(images, map[string]any{"dataBase64": strings.TrimPrefix(pixel, "data:image/png;base64,")})
	}
	p["images"] = images
	began := time.Now()
	result, err := w.call("bridge/image/describe", p)
	var e *rpc.Error
	switch want := c.Seed; {
	case want.Result != nil:
		var got image.Result
		if err != nil || json.Unmarshal(result.Raw(), &got) != nil || cmp.Diff(*want.Result, got, masked) != "" {
			t.Errorf("%s, %v; want %+v", result.Raw(), err, *want.Result)
		}
	case late:
		if waited := time.Since(began); !errors.As(err, &e) || e.Code != rpc.CodeDeadline || waited < 100*time.Millisecond {
			t.Errorf("%v, after %v", err, waited)
		}
	case err == nil || !likeText("<text>"+want.Error, "").MatchString(" "+err.Error()):
		t.Errorf("%v, want %s", err, want.Error)
	}
	if late && c.Input.TimeoutMs < 100 { // too short for its Codex to start
		return
	}
	wanted := []request{}
	for _, r := range c.Seed.Requests {
		wanted = append(wanted, c.sent(request{r.Method, r.Params}))
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(wanted, made, masked); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}
}

// The bridge declines requests of a Codex that describes an image, because no user is there.
func TestNobodyVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "client.json", "cases", func(t *testing.T, c unattended) { c.play(t) },
		leftOut[unattended]{`client.json | cases of another kind than "server request without handler"`, unattended.isOfClient})
}

type unattended struct {
	Kind, Method string
	Written      []struct{ Result json.RawMessage }
}

// isOfClient reports whether the case is about the client's requests, or the start.
func (c unattended) isOfClient() bool { return c.Kind != "server request without handler" }

func (c unattended) play(t *testing.T) {
	if len(c.Written) != 1 {
		t.Fatalf("the case has %d answers", len(c.Written))
	}
	answers := make(chan json.RawMessage, 1)
	serveExtraCodex(t, func(r request, tell func(any)) any {
		switch r.Method {
		case "": // a response
			answers <- json.RawMessage(r.Params["line"].(string))
			turn := map[string]any{"id": "tu", "status": "completed", "items": []any{map[string]any{"type": "agentMessage", "id": "a", "text": "A dog"}}}
			tell(map[string]any{"method": "turn/completed", "params": map[string]any{"threadId": "th", "turn": turn}})
		case "model/list":
			return map[string]any{"data": []any{map[string]any{"id": "m", "model": "m", "inputModalities": []string{"text", "image"}}}}
		case "thread/start":
			return map[string]any{"thread": map[string]any{"id": "th"}, "sandbox": map[string]any{"type": "readOnly"}}
		case "turn/start":
			tell(map[string]any{"id": 5, "method": c.Method, "params": map[string]any{}})
			return map[string]any{"turn": map[string]any{"id": "tu", "status": "inProgress", "items": []any{}}}
		}
		return map[string]any{}
	})
	w := newAssembled(t, "", func(request) (any, string) { return map[string]any{}, "" })
	w.initialize(nil)
	image := map[string]any{"dataBase64": strings.TrimPrefix(pixel, "data:image/png;base64,")}
	if result := w.must("bridge/image/describe", map[string]any{"images": []any{image}}); !result.Get("text").Is("A dog") {
		t.Errorf("%s", result.Raw())
	}
	select {
	case line := <-answers:
		doc, err := rpc.ParseValue(line)
		if err != nil {
			t.Fatal(err)
		}
		checkUnattended(t, c.Method, compact(t, c.Written[0].Result), doc.Root())
	case <-time.After(waitTime()):
		t.Fatal("the request is not answered")
	}
}

// checkUnattended compares a response with the vector's, or with its row in DEVIATIONS.md.
func checkUnattended(t *testing.T, method string, want json.RawMessage, got rpc.Value) {
	t.Helper()
	result := got.Get("result")
	switch {
	case !strings.Contains(method, "/"): // legacy
		if !result.Get("decision").Get("denied").Exists() {
			t.Errorf("the response to %s is %s", method, got.Raw())
		}
	case string(want) == "{}":
		if string(got.Get("error").Get("code").Raw()) != "-32601" {
			t.Errorf("the response to %s is %s, want an error", method, got.Raw())
		}
	case method == "item/tool/call": // any text
		if ok, is := result.Get("success").Bool(); ok || !is || !strings.Contains(string(result.Raw()), `"inputText"`) {
			t.Errorf("the response to %s is %s", method, got.Raw())
		}
	default:
		sameJSON(t, want, result.Raw())
	}
}
