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
	waiting map[string]chan json.RawMessage // our requests, by their ids
	failed  error                           // of the first write that failed
}

// message is what the client sends.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// fault is an error answer.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func faultf(format string, args ...any) *fault {
	return &fault{Code: -32600, Message: fmt.Sprintf(format, args...)}
}

// object is a JSON object that is written.
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

func (w *wire) tell(method string, params any) {
	w.write(object{"method": method, "params": params})
}

func (w *wire) answer(id json.RawMessage, result any, f *fault) {
	if f != nil {
		w.write(object{"id": id, "error": f})
		return
	}
	w.write(object{"id": id, "result": result})
}

// ask is a request of ours; its answer is the result, nil where it was an error.
func (w *wire) ask(ctx context.Context, method string, thread string, params object) (json.RawMessage, error) {
	w.mu.Lock()
	id := w.next
	w.next++
	if w.waiting == nil {
		w.waiting = make(map[string]chan json.RawMessage)
	}
	answer := make(chan json.RawMessage, 1)
	w.waiting[strconv.Itoa(id)] = answer
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting, strconv.Itoa(id))
	}()
	w.write(object{"method": method, "id": id, "params": params})
	select {
	case result := <-answer:
		w.tell("serverRequest/resolved", object{"threadId": thread, "requestId": id})
		return result, nil
	case <-ctx.Done():
		w.tell("serverRequest/resolved", object{"threadId": thread, "requestId": id})
		return nil, ctx.Err()
	}
}

// answered gives an answer to who waits for it. Others are ignored, as codex does.
func (w *wire) answered(m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if answer := w.waiting[string(m.ID)]; answer != nil {
		delete(w.waiting, string(m.ID))
		answer <- m.Result
	}
}
