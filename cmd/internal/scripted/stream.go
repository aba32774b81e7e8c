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

// stream is one open response to Codex.
type stream struct {
	ctx   context.Context // ends with the connection or the server
	w     http.ResponseWriter
	id    string                     // of the response
	newID func(prefix string) string // with counters of the server
	began bool
}

// event sends one server-sent event and flushes it, so that Codex receives each delta separately.
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

// sendItem sends the event of a completed item, on which Codex acts.
func (s *stream) sendItem(item map[string]any) error {
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

// streamMessage streams an assistant message. It calls between, if not nil, after the first delta.
func (s *stream) streamMessage(words []string, between func() error) error {
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
	return s.sendItem(item(strings.Join(words, "")))
}

func (t Text) play(s *stream) error {
	return s.streamMessage(strings.SplitAfter(string(t), " "), nil)
}

// streamUntil streams a message whose second word follows the signal of until.
func streamUntil[T any](s *stream, until <-chan T) error {
	return s.streamMessage([]string{"Working… ", "done."}, func() error {
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
	return streamUntil(s, timer.C)
}

func (h Paused) play(s *stream) error { return streamUntil(s, h.Until) }

// callID returns the id of a call from the script, or a new one.
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
	return s.sendItem(item)
}

func (c CustomCall) play(s *stream) error {
	return s.sendItem(map[string]any{
		"type": "custom_tool_call", "id": s.newID("ctc"), "call_id": s.callID(c.ID),
		"name": c.Tool, "input": c.Input,
	})
}

// errFailed ends a response after Fail sent the reason.
var errFailed = errors.New("the script ends the response")

func (r Raw) play(s *stream) error { return s.sendItem(r) }

func (f Fail) play(s *stream) error {
	if f.Status != 0 && !s.began {
		s.began = true
		s.w.Header().Set("Content-Type", "application/json")
		s.w.WriteHeader(f.Status)
		_ = json.NewEncoder(s.w).Encode(map[string]any{"error": map[string]any{"message": f.Message}})
		return errFailed
	}
	// Codex does not retry after invalid_prompt.
	err := s.event("response.failed", map[string]any{"response": map[string]any{
		"id": s.id, "status": "failed",
		"error": map[string]any{"code": "invalid_prompt", "message": f.Message},
	}})
	if err != nil {
		return err
	}
	return errFailed
}
