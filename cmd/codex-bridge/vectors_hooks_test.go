//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// hookEvent returns the event with a name of the vectors, which have one name of another system.
func hookEvent(name string) hook.Event {
	if name == "before_agent_finalize" {
		return hook.Stop
	}
	return hook.Event(name)
}

// hookWorld is a conversation with a thread "x" that has the bridge's hooks.
type hookWorld struct {
	*assembled
	config map[string]any // of the thread, as Codex received it
}

// hooked starts a conversation with this configuration, for a client that wants these events.
func hooked(t *testing.T, configuration string, approval any, wants ...hook.Event) *hookWorld {
	t.Helper()
	w := newAssembled(t, configuration, func(request) (any, string) {
		return map[string]any{"thread": map[string]any{"id": "x"}, "cwd": "/w", "model": "m"}, ""
	})
	names := []string{}
	for _, e := range wants {
		names = append(names, handlers.ClientName(e))
	}
	w.initialize(map[string]any{"hooks": names})
	p := map[string]any{}
	if approval != nil {
		p["approvalPolicy"] = approval
	}
	w.must("thread/start", p)
	config, _ := withMethod(w.takeRequests(), "thread/start")[0].Params["config"].(map[string]any)
	return &hookWorld{w, config}
}

// command returns the command line that Codex runs for an event.
func (w *hookWorld) command(e hook.Event) string {
	w.t.Helper()
	var groups []struct{ Hooks []struct{ Command string } }
	if err := json.Unmarshal([]byte(text(w.t, w.config["hooks."+e.Name()])), &groups); err != nil || len(groups) != 1 || len(groups[0].Hooks) != 1 {
		w.t.Fatalf("no hook of %s is installed: %s", e, text(w.t, w.config))
	}
	return groups[0].Hooks[0].Command
}

// socket returns the path of the socket of the thread's hooks.
func (w *hookWorld) socket() string {
	m := regexp.MustCompile(`--socket '?([^' ]+)`).FindStringSubmatch(w.command(hook.PreToolUse))
	if m == nil {
		w.t.Fatal(w.command(hook.PreToolUse))
	}
	return m[1]
}

// printed is the output of a hook process.
type printed struct {
	Stdout, Stderr string
	ExitCode       json.RawMessage // a number; a text if the other process throws an error
}

// runHook runs the program's command hook with this stdin.
func runHook(t *testing.T, stdin string, args ...string) printed {
	t.Helper()
	r := runProgram(t, os.Environ(), stdin, append([]string{"hook"}, args...)...)
	return printed{string(r.Stdout), string(r.Stderr), json.RawMessage(strconv.Itoa(r.Code))}
}

// run runs the command hook as Codex does, while the client answers bridge/hook.
func (w *hookWorld) run(stdin string, client func() (any, error), args ...string) printed {
	w.t.Helper()
	done := make(chan printed, 1)
	go func() { done <- runHook(w.t, stdin, args...) }()
	for {
		select {
		case p := <-done:
			return p
		case line := <-w.EditorReceives():
			m, err := rpc.ParseMessage([]byte(line))
			if err != nil {
				w.t.Fatal(err)
			}
			if m.Method != "bridge/hook" {
				continue
			}
			answer, err := client()
			reply := map[string]any{"id": json.RawMessage(m.ID.Raw()), "result": answer}
			if err != nil {
				reply = map[string]any{"id": json.RawMessage(m.ID.Raw()), "error": map[string]any{"code": -32603, "message": err.Error()}}
			}
			w.EditorSends(text(w.t, reply))
		case <-time.After(waitTime()):
			w.t.Fatal("the hook did not end in time")
		}
	}
}

type hookConfigCase struct {
	Name    string
	Options struct {
		Events             []string
		ClearOmittedEvents bool
		HookTimeoutSec     *float64
	}
	RelayHasNoWorkFor []string
	Config            map[string]any
}

// An event is idle without a client that wants it and without a handler.
func TestHookConfigVectorsCases(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "hook_config.json", "cases", func(t *testing.T, c hookConfigCase) {
		var wants []hook.Event
		for _, e := range hook.Events() {
			if !slices.ContainsFunc(c.RelayHasNoWorkFor, func(name string) bool { return hookEvent(name) == e }) {
				wants = append(wants, e)
			}
		}
		seconds := 5.0 // the default of the other program; see DEVIATIONS.md
		if s := c.Options.HookTimeoutSec; s != nil && *s > 0 {
			seconds = *s
		}
		configuration := fmt.Sprintf("[hooks]\ntimeout = \"%vs\"\n", seconds)
		if len(c.Options.Events) > 0 {
			var names []string
			for _, name := range c.Options.Events {
				names = append(names, strconv.Quote(string(hookEvent(name))))
			}
			configuration += "events = [" + strings.Join(names, ", ") + "]\n"
		}
		w := hooked(t, configuration, "never", wants...)
		if diff := cmp.Diff(c.expected(t, w.config), w.config); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// expected returns the hook configuration that the thread must get: the vector's, with the bridge's
// commands and status texts, and without events that the vector empties (see DEVIATIONS.md). It
// computes the hashes by the vectors' formula.
func (c hookConfigCase) expected(t *testing.T, got map[string]any) map[string]any {
	t.Helper()
	want := map[string]any{}
	states, _ := c.Config["hooks.state"].(map[string]any)
	for name, v := range c.Config {
		groups, ok := v.([]any)
		if !ok {
			want[name] = v
			continue
		}
		event := eventNamed(strings.TrimPrefix(name, "hooks."))
		if len(groups) == 0 {
			if slices.ContainsFunc(c.RelayHasNoWorkFor, func(name string) bool { return hookEvent(name) == event }) {
				want[name] = v // the event is selected, but idle
			}
			continue
		}
		one := groups[0].(map[string]any)["hooks"].([]any)[0].(map[string]any)
		checkHash(t, states, event, one)
		own, _ := got[name].([]any)
		if len(own) == 1 {
			hooks, _ := own[0].(map[string]any)["hooks"].([]any)
			one["command"], one["statusMessage"] = hooks[0].(map[string]any)["command"], core.HookStatus
			if command, _ := one["command"].(string); !strings.Contains(command, " hook --socket ") || !strings.Contains(command, "--event "+string(event)) {
				t.Errorf("%s: the command is %q", event, command)
			}
		}
		want[name] = groups
	}
	mine := map[string]any{}
	for place, v := range states {
		if state := v.(map[string]any); state["enabled"] == true {
			event := hook.Event(strings.Split(place, ":")[1])
			groups := want["hooks."+event.Name()].([]any)
			state["trusted_hash"] = hashOf(t, event, groups[0].(map[string]any)["hooks"].([]any)[0])
			mine[place] = state
		}
	}
	want["hooks.state"] = mine
	return want
}

func eventNamed(name string) hook.Event {
	for _, e := range hook.Events() {
		if e.Name() == name {
			return e
		}
	}
	return ""
}

// hashOf returns the hash of a hook by the formula in the vectors' note.
func hashOf(t *testing.T, e hook.Event, one any) string {
	t.Helper()
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{"event_name": string(e), "hooks": []any{one}}); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(bytes.TrimSpace(line.Bytes()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// checkHash checks the formula against a hook of the vectors.
func checkHash(t *testing.T, states map[string]any, e hook.Event, one any) {
	t.Helper()
	state, _ := states["/<session-flags>/config.toml:"+string(e)+":0:0"].(map[string]any)
	if got := hashOf(t, e, one); state["trusted_hash"] != got {
		t.Errorf("%s has the hash %v, and %s by the formula", e, state["trusted_hash"], got)
	}
}

// The events that are installed under each approval policy.
func TestHookConfigVectorsEvents(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type eventsCase struct {
		ApprovalPolicy           any
		ConfiguredEvents, Events []string
	}
	eachCase(t, "hook_config.json", "events", func(t *testing.T, c eventsCase) {
		configuration := "[hooks]\n"
		if len(c.ConfiguredEvents) > 0 {
			var names []string
			for _, name := range c.ConfiguredEvents {
				names = append(names, strconv.Quote(string(hookEvent(name))))
			}
			configuration += "events = [" + strings.Join(names, ", ") + "]\n"
		}
		w := hooked(t, configuration, c.ApprovalPolicy, hook.Events()...)
		var want, got []string
		for _, name := range c.Events {
			want = append(want, "hooks."+hookEvent(name).Name())
		}
		for name := range w.config {
			if name != "hooks.state" && name != "features.hooks" {
				got = append(got, name)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
