package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge/bridge/bridgetest/vectors"

	"codex-bridge/lifecycle/turn"
	"codex-bridge/rpc"
)

type notification struct {
	Method string
	Params json.RawMessage
}

func (n notification) event(t *testing.T) (turn.Event, bool) {
	t.Helper()
	doc, err := rpc.ParseValue(n.Params)
	if err != nil {
		t.Fatal(err)
	}
	return turn.Read(n.Method, doc.Root())
}

func delta(thread, id, item, text string) notification {
	params, err := json.Marshal(map[string]string{"threadId": thread, "turnId": id, "itemId": item, "delta": text})
	if err != nil {
		panic(err)
	}
	return notification{"item/agentMessage/delta", params}
}

func TestTurnCollectorVectors(t *testing.T) {
	var v struct {
		Cases []struct {
			Name      string
			Before    json.RawMessage `json:"beforeTurnId"`
			Turn      string          `json:"turnId"`
			After     []notification
			TimeoutMs int
			Result    struct{ ReplyText, Error *string }
		}
	}
	vectors.Read(t, "turn_collector.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var before []notification
				if string(c.Before) == `"<150 notifications>"` {
					for i := range 150 {
						before = append(before, delta("th", c.Turn, "a", fmt.Sprint(i%10)))
					}
				} else if err := json.Unmarshal(c.Before, &before); err != nil {
					t.Fatal(err)
				}
				collector := turn.NewCollector("th")
				take := func(all []notification) {
					for _, n := range all {
						if e, ok := n.event(t); ok {
							collector.Take(e)
						}
					}
				}
				take(before)
				collector.Of(c.Turn)
				take(c.After)
				started := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), turn.Patience(time.Duration(c.TimeoutMs)*time.Millisecond))
				defer cancel()
				out, err := collector.Wait(ctx)
				switch {
				case c.Result.ReplyText != nil:
					if err != nil || out.Status == turn.Failed || out.Text != *c.Result.ReplyText {
						t.Errorf("%+v, %v", out, err)
					}
				case c.Result.Error == nil:
					t.Fatal("a case without a result")
				case *c.Result.Error == "<text>":
					if err == nil || time.Since(started) != 100*time.Millisecond {
						t.Errorf("%+v, %v, after %v", out, err, time.Since(started))
					}
				case err != nil || out.Status != turn.Failed || out.Problem != *c.Result.Error:
					t.Errorf("%+v, %v", out, err)
				}
			})
		})
	}
}
