package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// stream is one response on its way to codex.
type stream struct {
	ctx   context.Context // ends with the connection or the server
	w     http.ResponseWriter
	id    string                     // of the response
	newID func(prefix string) string // counts for the whole server
	began bool
}

// event sends one server-sent event and flushes it: codex is to see the deltas
// one by one.
func (s *stream) event(kind string, fields map[string]any) error {
	if !s.began {
		s.began = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-store")
		s.w.WriteHeader(http.StatusOK)
		if err := s.event("response.created", map[string]any{"response": map[string]any{"id": s.id}}); err != nil {
			return err
		}
	}
	data := map[string]any{"type": kind}
	for k, v := range fields {
		data[k] = v
	}
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, b); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// done sends the item that codex acts upon.
func (s *stream) done(item map[string]any) error {
	return s.event("response.output_item.done", map[string]any{"item": item})
}

// play sends a whole reply. The token counts are fixed.
func (s *stream) play(reply Reply) error {
	for _, item := range reply {
		if err := item.play(s); err != nil {
			return err
		}
	}
	return s.event("response.completed", map[string]any{"response": map[string]any{
		"id": s.id,
		"usage": map[string]any{
			"input_tokens": 10, "input_tokens_details": nil,
			"output_tokens": 5, "output_tokens_details": nil,
			"total_tokens": 15,
		},
	}})
}

// message streams an assistant message. between, if any, is called after the
// first delta.
func (s *stream) message(words []string, between func() error) error {
	id := s.newID("msg")
	item := func(text string) map[string]any {
		return map[string]any{
			"type": "message", "role": "assistant", "id": id,
			"content": []any{map[string]any{"type": "output_text", "text": text}},
		}
	}
	added := item("")
	added["content"] = []any{}
	if err := s.event("response.output_item.added", map[string]any{"item": added}); err != nil {
		return err
	}
	for i, word := range words {
		if err := s.event("response.output_text.delta", map[string]any{"item_id": id, "delta": word}); err != nil {
			return err
		}
		if i == 0 && between != nil {
			if err := between(); err != nil {
				return err
			}
		}
	}
	return s.done(item(strings.Join(words, "")))
}

func (t Text) play(s *stream) error {
	return s.message(strings.SplitAfter(string(t), " "), nil)
}

// working is a message whose second word comes when until says so.
func working[T any](s *stream, until <-chan T) error {
	return s.message([]string{"Working… ", "done."}, func() error {
		select {
		case <-until:
			return nil
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	})
}

func (w Slow) play(s *stream) error {
	timer := time.NewTimer(w.For)
	defer timer.Stop()
	return working(s, timer.C)
}

func (h Held) play(s *stream) error { return working(s, h.Until) }

// callID returns the id that the script gives a call, or a new one.
func (s *stream) callID(id string) string {
	if id != "" {
		return id
	}
	return s.newID("call")
}

func (c Call) play(s *stream) error {
	if c.Arguments == nil {
		c.Arguments = json.RawMessage("{}")
	}
	item := map[string]any{
		"type": "function_call", "id": s.newID("fc"), "call_id": s.callID(c.ID),
		"name": c.Tool, "arguments": string(c.Arguments),
	}
	if c.Namespace != "" {
		item["namespace"] = c.Namespace
	}
	return s.done(item)
}

func (c CustomCall) play(s *stream) error {
	return s.done(map[string]any{
		"type": "custom_tool_call", "id": s.newID("ctc"), "call_id": s.callID(c.ID),
		"name": c.Tool, "input": c.Input,
	})
}

// errFailed ends a response after Fail has said why.
var errFailed = errors.New("the script says so")

func (f Fail) play(s *stream) error {
	if f.Status != 0 && !s.began {
		s.began = true
		s.w.Header().Set("Content-Type", "application/json")
		s.w.WriteHeader(f.Status)
		_ = json.NewEncoder(s.w).Encode(map[string]any{"error": map[string]any{"message": f.Message}})
		return errFailed
	}
	// invalid_prompt is a failure that codex does not try again.
	err := s.event("response.failed", map[string]any{"response": map[string]any{
		"id": s.id, "status": "failed",
		"error": map[string]any{"code": "invalid_prompt", "message": f.Message},
	}})
	if err != nil {
		return err
	}
	return errFailed
}
