package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func text(words string) []json.RawMessage {
	raw, err := json.Marshal(map[string]any{"type": "text", "text": words, "text_elements": []string{}})
	if err != nil {
		panic(err)
	}
	return []json.RawMessage{raw}
}

type step struct {
	wait   time.Duration
	client string // an action of the client; "" for a message
	mode   Mode
	quiet  time.Duration
}

var modes = []Mode{"", ModeSteer, ModeSteer, ModeSteer, ModeFollowup, ModeQueue, ModeInterrupt}

func steps(r *rapid.T, maxSteps int) []step {
	ms := func(r *rapid.T, maxMS int, name string) time.Duration {
		return time.Duration(rapid.IntRange(0, maxMS).Draw(r, name)) * time.Millisecond
	}
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
		return step{
			ms(r, 30, "wait"), rapid.SampledFrom([]string{"", "", "", "", "turn", "review", "compact", "interrupt"}).Draw(r, "client"),
			rapid.SampledFrom(modes).Draw(r, "mode"), ms(r, 20, "quiet"),
		}
	}), 1, maxSteps).Draw(r, "steps")
}

// play sends the messages 0, 1, 2, … and describes the first error in the model's input, or
// returns "".
func play(t *testing.T, seed int64, silent bool, all []step) (wrong string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newCodex(seed)
		c.silent = silent
		box := newTestInbox(InboxOptions{Thread: c.thread, Failed: func(m Message, err error) { wrong = err.Error() }})
		box.maxMessages = len(all) + 1
		var workers, senders sync.WaitGroup
		workers.Go(func() { c.deliver(ctx) })
		workers.Go(func() { box.Run(ctx) })
		var mu sync.Mutex
		n := 0
		for _, s := range all {
			time.Sleep(s.wait)
			if s.client != "" {
				c.client(s.client)
				continue
			}
			m := Message{Input: text(strconv.Itoa(n)), Mode: s.mode, Quiet: s.quiet}
			n++
			senders.Go(func() {
				r, err := box.Enqueue(ctx, m)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					wrong = fmt.Sprintf("%s: %v", m.Input, err)
				}
				if (r.Turn == "") != (r.Disposition == DispositionQueued) {
					wrong = fmt.Sprintf("%s: %+v", m.Input, r)
				}
			})
			synctest.Wait() // it is queued
		}
		senders.Wait()
		for !box.Settled() {
			time.Sleep(10 * time.Millisecond)
		}
		c.turns.Wait()
		cancel()
		workers.Wait()
		var want []string
		for i := range n {
			want = append(want, strconv.Itoa(i))
		}
		got := slices.DeleteFunc(slices.Clone(c.model), func(s string) bool { return s == "client" })
		if silent { // input may be lost with an interrupted turn, but is not sent twice
			want = slices.DeleteFunc(want, func(s string) bool { return !slices.Contains(got, s) })
		}
		if wrong == "" && !slices.Equal(got, want) {
			wrong = fmt.Sprintf("the model was given %q, not %d messages in order", got, n)
		}
	})
	return wrong
}

// Each message reaches the model once, in the order of sending; at most once if Codex does not send
// the ids of inputs.
func TestMessagesAreDeliveredOnceInOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		if wrong := play(t, rapid.Int64().Draw(r, "seed"), rapid.Bool().Draw(r, "silent"), steps(r, 40)); wrong != "" {
			r.Fatal(wrong)
		}
	})
}

func TestTenThousandMessagesInOneThread(t *testing.T) {
	all := make([]step, 0, 11_000)
	for i := range 10_000 {
		s := step{wait: time.Duration(i*7%13) * time.Millisecond, mode: modes[i%len(modes)], quiet: time.Duration(i*5%17) * time.Millisecond}
		all = append(all, s)
		if i%10 == 0 {
			all = append(all, step{client: []string{"turn", "review", "interrupt", "compact"}[i/10%4]})
		}
	}
	if wrong := play(t, 1, false, all); wrong != "" {
		t.Fatal(wrong)
	}
}
