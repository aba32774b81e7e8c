package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// wire is the connection to the client.
type wire struct {
	mu      sync.Mutex
	out     io.Writer
	next    int
	pending map[string]chan json.RawMessage // requests to the client, by id
	failed  error                           // of the first failed write
}

// message is a message of the client.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// rpcError is an error response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func errorf(format string, args ...any) *rpcError {
	return &rpcError{Code: -32600, Message: fmt.Sprintf(format, args...)}
}

// object is a JSON object to write.
type object = map[string]any

func (w *wire) write(v any) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.failed == nil {
		_, err = w.out.Write(line.Bytes())
	}
	if w.failed == nil {
		w.failed = err
	}
}

func (w *wire) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *wire) send(method string, params any) {
	w.write(object{"method": method, "params": params})
}

func (w *wire) respond(id json.RawMessage, result any, f *rpcError) {
	if f != nil {
		w.write(object{"id": id, "error": f})
		return
	}
	w.write(object{"id": id, "result": result})
}

// request sends a request to the client and returns the result; nil after an error.
func (w *wire) request(ctx context.Context, method string, thread string, params object) (json.RawMessage, error) {
	w.mu.Lock()
	id := w.next
	w.next++
	if w.pending == nil {
		w.pending = make(map[string]chan json.RawMessage)
	}
	answer := make(chan json.RawMessage, 1)
	w.pending[strconv.Itoa(id)] = answer
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.pending, strconv.Itoa(id))
	}()
	w.write(object{"method": method, "id": id, "params": params})
	select {
	case result := <-answer:
		w.send("serverRequest/resolved", object{"threadId": thread, "requestId": id})
		return result, nil
	case <-ctx.Done():
		w.send("serverRequest/resolved", object{"threadId": thread, "requestId": id})
		return nil, ctx.Err()
	}
}

// handleResponse passes a response to its request. Like Codex, it ignores others.
func (w *wire) handleResponse(m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if answer := w.pending[string(m.ID)]; answer != nil {
		delete(w.pending, string(m.ID))
		answer <- m.Result
	}
}
