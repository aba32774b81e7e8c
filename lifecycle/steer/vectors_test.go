package steer_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/lifecycle/steer"
	"codex-bridge/lifecycle/turn"
	"codex-bridge/rpc"
)

// open is a Codex that accepts everything, at once.
type open struct {
	mu    sync.Mutex
	asked []asked
}

func (o *open) Ask(_ context.Context, method string, params any) (rpc.Value, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Value{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, asked{method, raw})
	doc, err := rpc.ParseValue([]byte(`{"turn":{"id":"new"}}`))
	if err != nil {
		return rpc.Value{}, err
	}
	return doc.Root(), nil
}

func TestSteeringVectors(t *testing.T) {
	var v struct {
		NormalizeDebounce []struct {
			In  json.RawMessage
			Out float64
		}
		Cases []struct {
			Name   string
			Script []struct {
				Text                 string
				DebounceMs, Wait     int
				Flush, Cancel, Abort int
			}
			Requests []struct {
				Method string
				Params map[string]any
			}
			Results []string
		}
	}
	vectors.Read(t, "steering.json", &v)
	if len(v.NormalizeDebounce) == 0 || len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.NormalizeDebounce {
		doc, err := rpc.ParseValue(c.In)
		if err != nil {
			t.Fatal(err)
		}
		const usual = 500 * time.Millisecond
		got, err := steer.Quiet(doc.Root(), usual)
		var n float64
		if json.Unmarshal(c.In, &n) != nil || n < 0 || n > 60_000 { // see DEVIATIONS.md
			if err == nil {
				t.Errorf("%s is %v, want an error", c.In, got)
			}
			continue
		}
		if want := time.Duration(c.Out * float64(time.Millisecond)); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", c.In, got, err, want)
		}
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				codex := &open{}
				thread := turn.NewThread("t", codex)
				thread.Take(turn.Event{Kind: turn.Started, Thread: "t", Turn: "u"})
				box := steer.New(steer.Options{Thread: thread})
				ctx, cancel := context.WithCancelCause(t.Context())
				var all sync.WaitGroup
				all.Go(func() { box.Run(ctx) })
				var results []string
				for _, s := range c.Script {
					switch {
					case s.Text != "":
						i := len(results)
						results = append(results, "")
						all.Go(func() {
							results[i] = "resolved"
							if _, err := box.Enqueue(t.Context(), steer.Message{Input: text(s.Text), Quiet: ms(s.DebounceMs)}); err != nil {
								results[i] = "<text>"
							}
						})
					case s.Flush > 0:
						box.Flush()
					case s.Cancel > 0, s.Abort > 0:
						cancel(errors.New("called off"))
					}
					time.Sleep(ms(s.Wait))
					synctest.Wait()
				}
				cancel(nil)
				all.Wait()
				var requests []struct {
					Method string
					Params map[string]any
				}
				for _, a := range codex.asked {
					var p map[string]any
					if err := json.Unmarshal(a.params, &p); err != nil {
						t.Fatal(err)
					}
					delete(p, "clientUserMessageId") // ours, to know what has become of it
					requests = append(requests, struct {
						Method string
						Params map[string]any
					}{a.method, p})
				}
				want := c.Requests[:len(c.Requests):len(c.Requests)]
				if len(want) != len(requests) {
					t.Fatalf("%d requests, want %d", len(requests), len(want))
				}
				for i := range want {
					if diff := cmp.Diff(want[i].Params, requests[i].Params); diff != "" || want[i].Method != requests[i].Method {
						t.Errorf("%s (-want +got):\n%s", requests[i].Method, diff)
					}
				}
				if diff := cmp.Diff(c.Results, results); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}
