//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
	"codex-bridge/lifecycle/steer"
	"codex-bridge/lifecycle/turn"
	"codex-bridge/rpc"
)

// asker asks codex as the bridge does.
type asker struct{ e *editor.Editor }

func (a asker) Ask(ctx context.Context, method string, params any) (rpc.Value, error) {
	result, failed := a.e.Call(ctx, method, params)
	if failed != nil {
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex refused %s: %s", method, failed.Message)
	}
	doc, err := rpc.ParseValue(result)
	if err != nil {
		return rpc.Value{}, err
	}
	return doc.Root(), nil
}

// Two hundred messages within two seconds or so, over the ends of turns, over interrupts,
// a review and a compaction: each becomes part of the conversation once, in order, and is
// given to the model.
func TestMessagesArrive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	var thread atomic.Pointer[turn.Thread]
	var mu sync.Mutex
	var heard []int
	observe := func(m editor.Message) {
		th := thread.Load()
		if m.Sent || !m.IsNotification() || th == nil {
			return
		}
		doc, err := rpc.ParseValue(m.Params)
		if err != nil {
			t.Error(err)
			return
		}
		if m.Method == "item/completed" && m.Param("item", "type") == "userMessage" {
			mu.Lock()
			for item := range doc.Root().Get("item").Get("content").Elements() {
				text, _ := item.Get("text").Text()
				if _, id, ok := strings.Cut(text, "\n#"); ok {
					if n, err := strconv.Atoi(id); err == nil {
						heard = append(heard, n)
					}
				}
			}
			mu.Unlock()
		}
		if e, ok := turn.Read(m.Method, doc.Root()); ok {
			th.Take(e)
		}
	}
	e := w.start([]string{codexPath, "app-server"}, editor.Options{Observe: observe})
	ctx := deadline(t)
	if _, err := e.Initialize(ctx, nil); err != nil {
		t.Fatal(err)
	}
	result, failed := e.Call(ctx, "thread/start", map[string]any{"cwd": w.workspace})
	if failed != nil {
		t.Fatal(failed)
	}
	th := turn.NewThread(editor.Member(result, "thread", "id"), asker{e})
	thread.Store(th)
	box := steer.New(steer.Options{Thread: th, Failed: func(m steer.Message, err error) { t.Errorf("%s: %v", m.Text, err) }})
	running, stop := context.WithCancel(ctx)
	var worker, senders sync.WaitGroup
	defer worker.Wait()
	defer stop()
	worker.Go(func() { box.Run(running) })

	const n = 200
	modes := []steer.Mode{steer.Steer, steer.Steer, steer.Steer, steer.Steer, steer.Steer, steer.Steer, steer.Steer, steer.Followup, steer.Steer, steer.Queue}
	for i := range n {
		text := fmt.Sprintf("SLOW: %d\n#%d", i%7*15, i)
		item, err := json.Marshal(map[string]any{"type": "text", "text": text, "text_elements": []string{}})
		if err != nil {
			t.Fatal(err)
		}
		before := box.Arrived()
		senders.Go(func() {
			_, err := box.Enqueue(ctx, steer.Message{Input: []json.RawMessage{item}, Text: text, Mode: modes[i%len(modes)], Quiet: time.Duration(i%3) * 5 * time.Millisecond})
			if err != nil {
				t.Error(err)
			}
		})
		for box.Arrived() == before {
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(8 * time.Millisecond) // only how they meet the turns depends on it
		now, _ := th.Turn()
		switch {
		case i%23 == 11 && now != "":
			_, _ = e.Call(ctx, "turn/interrupt", map[string]any{"threadId": th.ID, "turnId": now}) // which may have ended
		case i == 60 || i == 130:
			_, _ = e.Call(ctx, "thread/compact/start", map[string]any{"threadId": th.ID}) // refused while a turn runs
		case i == 90 || i == 160:
			_, _ = e.Call(ctx, "review/start", map[string]any{
				"threadId": th.ID, "delivery": "inline", "target": map[string]any{"type": "custom", "instructions": "SLOW: 300"},
			})
		}
	}
	senders.Wait()
	for !box.Settled() {
		if ctx.Err() != nil {
			t.Fatalf("%d messages are left", box.Waiting())
		}
		time.Sleep(5 * time.Millisecond)
	}
	for now, _ := th.Turn(); now != "" && ctx.Err() == nil; now, _ = th.Turn() {
		time.Sleep(5 * time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	for i := 1; i < len(heard); i++ {
		if heard[i] <= heard[i-1] {
			t.Errorf("codex has taken %v", heard)
			break
		}
	}
	for id := range n {
		if !slices.ContainsFunc(w.model.Requests(), func(r scripted.Request) bool { return r.Contains(`\n#` + strconv.Itoa(id) + `"`) }) {
			t.Errorf("the model was not given %d", id)
		}
	}
}
