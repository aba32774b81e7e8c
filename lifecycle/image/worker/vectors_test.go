package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/lifecycle/image"
	"codex-bridge/lifecycle/image/worker"
	"codex-bridge/rpc"
)

// request is one that the other implementation, or this one, has made.
type request struct {
	Method    string          `json:"method"`
	TimeoutMs int64           `json:"timeoutMs"`
	Params    json.RawMessage `json:"params"`
}

type vector struct {
	Name  string
	Input struct {
		Model, Prompt *string
		Models        []json.RawMessage
		TimeoutMs     int64
		Images        []struct{ Mime, Bytes *string }
		StartTurn     map[string]any
		Notify        []struct {
			Method string
			Params json.RawMessage
		}
	}
	Seed struct {
		Result   *worker.Result
		Error    string
		Requests []request
	}
}

// codex answers as the other implementation's was made to.
type codex struct {
	t     *testing.T
	v     vector
	heard *image.Collector
	asked []request
}

func value(t *testing.T, v any) rpc.Value {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func (c *codex) Call(ctx context.Context, method string, params any) (rpc.Value, error) {
	end, ok := ctx.Deadline()
	if !ok {
		c.t.Errorf("%s has all the time of the world", method)
	}
	switch method {
	case "config/read": // the other implementation has the user's servers start
		return value(c.t, map[string]any{"config": map[string]any{"mcp_servers": map[string]any{"a.b": map[string]any{}}}}), nil
	case "model/list", "thread/start", "turn/start":
		c.asked = append(c.asked, request{method, time.Until(end).Milliseconds(), value(c.t, params).Raw()})
	default:
		c.t.Errorf("codex is asked for %s", method)
	}
	switch method {
	case "model/list":
		if c.v.Input.Models != nil {
			return value(c.t, map[string]any{"data": c.v.Input.Models}), nil
		}
		return value(c.t, map[string]any{"data": []any{map[string]any{"id": "gpt-5.5", "model": "gpt-5.5", "inputModalities": []string{"text", "image"}}}}), nil
	case "thread/start":
		return value(c.t, map[string]any{"thread": map[string]any{"id": "th"}, "sandbox": map[string]any{"type": "readOnly"}}), nil
	}
	for _, n := range c.v.Input.Notify { // before the turn is known
		c.heard.Heard(n.Method, value(c.t, n.Params))
	}
	turn := map[string]any{"id": "tu", "status": "inProgress", "items": []any{}}
	for name, v := range c.v.Input.StartTurn {
		turn[name] = v
	}
	return value(c.t, map[string]any{"turn": turn}), nil
}

// job is the one of a vector.
func (v vector) job() (image.Job, time.Duration) {
	job, within := image.Job{Model: "gpt-5.5"}, 300*time.Millisecond
	if v.Input.Model != nil {
		job.Model = *v.Input.Model
	}
	if v.Input.Prompt != nil {
		job.Prompt = *v.Input.Prompt
	}
	if v.Input.TimeoutMs > 0 {
		within = time.Duration(v.Input.TimeoutMs) * time.Millisecond
	}
	for _, one := range v.Input.Images { // whose kind the content tells here
		job.Images = append(job.Images, image.Image{Mime: "image/png", Data: []byte(*one.Bytes)})
	}
	if job.Images == nil {
		job.Images = []image.Image{{Mime: "image/png", Data: []byte("img")}}
	}
	return job, image.Within(within)
}

// ours is what the other implementation sends, less that in which the bridge differs: see
// testdata/vectors/DEVIATIONS.md.
func ours(t *testing.T, r request) request {
	t.Helper()
	var params map[string]any
	if err := json.Unmarshal(r.Params, &params); err != nil {
		t.Fatal(err)
	}
	if _, ok := params["approvalPolicy"]; ok {
		params["approvalPolicy"] = "untrusted"
	}
	if r.Method == "thread/start" {
		for _, name := range []string{"modelProvider", "experimentalRawEvents", "persistExtendedHistory", "config", "approvalsReviewer"} {
			delete(params, name)
		}
		if text, _ := params["developerInstructions"].(string); text != "" {
			params["developerInstructions"] = "<non-empty>"
		}
		params["serviceName"] = "codex-bridge"
	}
	if input, ok := params["input"].([]any); ok {
		input[0].(map[string]any)["text"] = strings.ReplaceAll(input[0].(map[string]any)["text"].(string), "Describe the image.", "Describe what the image shows.")
	}
	var err error
	if r.Params, err = json.Marshal(params); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestImageWorkerVectors(t *testing.T) {
	var all struct{ Cases []vector }
	vectors.Read(t, "image_worker.json", &all)
	if len(all.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, v := range all.Cases {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &codex{t: t, v: v, heard: &image.Collector{}}
				job, within := v.job()
				late := errors.New("late")
				ctx, cancel := context.WithTimeoutCause(t.Context(), within, late)
				defer cancel()
				got, err := worker.Do(ctx, c, c.heard, worker.Task{Job: job, Cwd: "/agent"})
				switch want := v.Seed; {
				case want.Result != nil:
					if err != nil || got != *want.Result {
						t.Errorf("%+v, %v", got, err)
					}
				case strings.Contains(want.Error, "aborted"):
					if !errors.Is(err, late) {
						t.Error(err)
					}
				case want.Error == "<text>":
					if err == nil || err.Error() == "" {
						t.Error("no error")
					}
				default:
					if err == nil || err.Error() != want.Error {
						t.Errorf("%v, want %s", err, want.Error)
					}
				}
				var made, wanted []request
				for _, r := range c.asked {
					made = append(made, ours(t, r))
				}
				for _, r := range v.Seed.Requests {
					wanted = append(wanted, ours(t, r))
				}
				if diff := cmp.Diff(wanted, made, cmp.Transformer("params", func(raw json.RawMessage) (v any) {
					_ = json.Unmarshal(raw, &v) // was marshalled above
					return v
				})); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}
