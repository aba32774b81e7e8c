//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Rounds of races of two clients: in the wide form 10,000 interleavings.
const (
	racingWorlds, racingRounds         = 1, 10
	wideRacingWorlds, wideRacingRounds = 100, 100
)

// Two clients work on one thread at once, and one of them asks for more than the policy allows, answers
// questions of the other and guesses ids: whatever the order, no command leaves the sandbox. Without a
// policy some do.
func TestRacingClients(t *testing.T) {
	t.Parallel()
	worlds, rounds := racingWorlds, racingRounds
	if os.Getenv(wideEnv) != "" {
		worlds, rounds = wideRacingWorlds, wideRacingRounds
	}
	for i := range worlds {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			race(t, starterConfig, rounds, uint64(i), false)
		})
	}
	t.Run("without a policy", func(t *testing.T) {
		t.Parallel()
		race(t, strings.Replace(starterConfig, "[policy]", "[policy]\nmode = \"off\"", 1), racingRounds, 0, true)
	})
}

// race lets two clients race on a thread. escapes is whether a command must have left the sandbox.
func race(t *testing.T, config string, rounds int, seed uint64, escapes bool) {
	t.Helper()
	w := newHubWorld(t, config)
	random := rand.New(rand.NewPCG(seed, 1))
	a, b := w.openAnswering("decline", proxyArgv...), w.openAnswering("accept", proxyArgv...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rounds)*patience/10+patience)
	defer cancel()
	a.ctx, b.ctx = ctx, ctx
	a.initialize(nil)
	b.initialize(nil)
	thread := a.thread(nil)
	a.runTurn(thread, "SAY: one")
	b.must("thread/resume", map[string]any{"threadId": thread})
	for round := range rounds {
		raceRound(a, b, thread, fmt.Sprintf("%s/outside-%d", w.root, round), random)
	}
	escaped, err := filepath.Glob(w.root + "/outside-*")
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case escapes && len(escaped) == 0:
		t.Error("without a policy no command has left the sandbox")
	case !escapes && len(escaped) > 0:
		t.Errorf("commands have left the sandbox, seed %d: %q", seed, escaped)
	}
	b.closeAndWait()
	a.closeAndWait()
}

// lastQuestion returns the highest id of a request that the client was sent.
func (c *conversation) lastQuestion() (last int) {
	for _, m := range c.Messages() {
		if id, err := strconv.Atoi(string(m.ID)); err == nil && !m.Sent && m.Method != "" {
			last = max(last, id)
		}
	}
	return last
}

// raceRound runs a turn of the first client, which declines, beside requests of both, and waits for all
// turns.
func raceRound(a, b *conversation, thread, file string, random *rand.Rand) {
	a.t.Helper()
	full := map[string]any{"type": "dangerFullAccess"}
	with := func(more map[string]any) map[string]any {
		all := map[string]any{"threadId": thread}
		maps.Copy(all, more)
		return all
	}
	prompt := input(thread, "RUN: touch "+file)["input"]
	var turn string
	requests := []func() (string, map[string]any){
		func() (string, map[string]any) {
			return "thread/resume", with(map[string]any{"sandbox": "danger-full-access", "approvalPolicy": "never"})
		},
		func() (string, map[string]any) {
			return "thread/settings/update", with(map[string]any{"sandboxPolicy": full, "approvalPolicy": "never"})
		},
		func() (string, map[string]any) {
			return "turn/start", with(map[string]any{"input": prompt, "sandboxPolicy": full, "approvalPolicy": "never"})
		},
		func() (string, map[string]any) {
			return "turn/steer", with(map[string]any{"input": prompt, "expectedTurnId": turn})
		},
		func() (string, map[string]any) { return "turn/interrupt", with(map[string]any{"turnId": turn}) },
		func() (string, map[string]any) { return "thread/unsubscribe", with(nil) },
		func() (string, map[string]any) {
			return "command/exec", map[string]any{"command": []string{"touch", file}, "sandboxPolicy": full}
		},
		func() (string, map[string]any) { return "answer", nil },
	}
	turn, mark := a.startTurn(thread, "ESCALATE: touch "+file)
	var calls sync.WaitGroup
	send := func(c *conversation, method string, params map[string]any) {
		if method == "answer" { // to the last questions, and to those that may come
			last := c.lastQuestion()
			for id := max(0, last-2); id < last+4; id++ {
				_ = c.Send([]byte(fmt.Sprintf(`{"id":%d,"result":{"decision":"accept"}}`, id)))
			}
			return
		}
		calls.Go(func() {
			_, _ = c.Call(c.ctx, method, params) // refusals are expected
		})
	}
	for range 1 + random.IntN(4) {
		method, params := requests[random.IntN(len(requests))]()
		send(b, method, params)
	}
	if random.IntN(3) == 0 {
		send(a, "thread/resume", with(nil))
	}
	if random.IntN(4) == 0 {
		send(a, "turn/interrupt", with(map[string]any{"turnId": turn}))
	}
	calls.Wait()
	a.waitTurn(thread, turn, mark)
	b.must("thread/resume", with(nil)) // it may have left
	var state struct {
		Thread struct{ Status json.RawMessage }
	}
	for !strings.Contains(string(state.Thread.Status), "idle") {
		if err := json.Unmarshal(a.must("thread/read", with(nil)), &state); err != nil {
			a.t.Fatal(err)
		}
	}
}
