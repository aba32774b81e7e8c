package handlers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
)

// failed marks a reason that must name the handler, its place and the cause.
func TestHandlerAnswers(t *testing.T) {
	const failed = "FAILED: "
	pre, permission, post, stop := hook.PreToolUse, hook.PermissionRequest, hook.PostToolUse, hook.Stop
	for _, tc := range []struct {
		name     string
		event    hook.Event
		how      []string
		decision hook.Decision
		reason   string // or failed and a part of it
		input    string
	}{
		{"nothing", pre, []string{"print", ""}, "", "", ""},
		{"empty object", pre, []string{"print", "{}"}, "", "", ""},
		{"deny", pre, []string{"print", `{"decision":"deny","reason":"no"}`}, hook.Deny, "no", ""},
		{"codex: deny", pre, []string{"print", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`}, hook.Deny, "no", ""},
		{"codex: block", pre, []string{"print", `{"decision":"block","reason":"no"}`}, hook.Deny, "no", ""},
		{"codex: exit 2", pre, []string{"exit", "2", "no\n"}, hook.Deny, "no", ""},
		{"codex: exit 2, stdout does not count", pre, []string{"exit", "2", "no", "{nonsense"}, hook.Deny, "no", ""},
		{"codex: systemMessage", pre, []string{"print", `{"continue":true,"systemMessage":"hi"}`}, "", "", ""},
		{"rewrite", pre, []string{"print", `{"input":{"command":"ls"}}`}, "", "", `{"command":"ls"}`},
		{"codex: rewrite", pre, []string{"print", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls"}}}`}, "", "", `{"command":"ls"}`},
		{"rewrite to the same", pre, []string{"print", `{"input":{ "command" : "make" }}`}, "", "", ""},

		{"exit 2 without a word", pre, []string{"exit", "2", " \n"}, hook.Deny, failed + "exit status 2", ""},
		{"exit 1", pre, []string{"exit", "1", "boom"}, hook.Deny, failed + "exit status 1; stderr: boom", ""},
		{"no JSON", pre, []string{"print", "fine"}, hook.Deny, failed + "not a JSON object", ""},
		{"null", pre, []string{"print", "null\n"}, hook.Deny, failed + "not a JSON object", ""},
		{"two objects", pre, []string{"print", "{}{}"}, hook.Deny, failed + "can't be read", ""},
		{"unknown member", pre, []string{"print", `{"decide":"deny"}`}, hook.Deny, failed + "decide", ""},
		{"other case", pre, []string{"print", `{"Decision":"deny"}`}, hook.Deny, failed + "Decision", ""},
		{"a member twice", pre, []string{"print", `{"decision":"deny","decision":""}`}, hook.Deny, failed + "duplicate", ""},
		{"unknown decision", pre, []string{"print", `{"decision":"allow"}`}, hook.Deny, failed + `"allow"`, ""},
		{"codex: approve", pre, []string{"print", `{"decision":"approve"}`}, hook.Deny, failed + `"approve"`, ""},
		{"codex: ask", pre, []string{"print", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}`}, hook.Deny, failed + `"ask"`, ""},
		{"codex: allow", pre, []string{"print", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`}, hook.Deny, failed + "print nothing", ""},
		{"codex: other event", pre, []string{"print", `{"hookSpecificOutput":{"hookEventName":"Stop"}}`}, hook.Deny, failed + `"Stop"`, ""},
		{"codex: continue false", pre, []string{"print", `{"continue":false}`}, hook.Deny, failed + "continue:false", ""},
		{"codex: context", pre, []string{"print", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"x"}}`}, hook.Deny, failed + "additionalContext", ""},
		{"reason alone", pre, []string{"print", `{"reason":"no"}`}, hook.Deny, failed + "no decision", ""},
		{"rewrite without command", pre, []string{"print", `{"input":{"cmd":"ls"}}`}, hook.Deny, failed + "accepts only", ""},
		{"rewrite with more", pre, []string{"print", `{"input":{"command":"ls","timeout":1}}`}, hook.Deny, failed + "accepts only", ""},
		{"rewrite to a text", pre, []string{"print", `{"input":"ls"}`}, hook.Deny, failed + "not a JSON object", ""},
		{"too much", pre, []string{"much"}, hook.Deny, failed + "more than 1048576 bytes", ""},
		{"deny and rewrite", pre, []string{"print", `{"decision":"deny","input":{"command":"ls"}}`}, hook.Deny, failed + "rewrote", ""},

		{"permission: nothing", permission, []string{"print", ""}, "", "", ""},
		{"permission: allow", permission, []string{"print", `{"decision":"allow"}`}, hook.Allow, "", ""},
		{"permission: codex allow", permission, []string{"print", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`}, hook.Allow, "", ""},
		{"permission: codex deny", permission, []string{"print", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}`}, hook.Deny, "no", ""},
		{"permission: exit 2", permission, []string{"exit", "2", "no"}, hook.Deny, "no", ""},
		{"permission: null", permission, []string{"print", "null"}, hook.Deny, failed + "not a JSON object", ""},
		{"permission: interrupt", permission, []string{"print", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","interrupt":true}}}`}, hook.Deny, failed + "interrupt", ""},
		{"permission: input", permission, []string{"print", `{"input":{"command":"ls"}}`}, hook.Deny, failed + "rewrote", ""},
		{"permission: exit 1", permission, []string{"exit", "1", ""}, hook.Deny, failed + "exit status 1", ""},

		{"post: block", post, []string{"print", `{"decision":"block","reason":"secret"}`}, hook.Block, "secret", ""},
		{"post: exit 2", post, []string{"exit", "2", "secret"}, hook.Block, "secret", ""},
		{"post: continue false", post, []string{"print", `{"continue":false,"stopReason":"enough"}`}, hook.Block, "enough", ""},
		{"post: fails", post, []string{"exit", "1", "boom"}, "", "", ""},
		{"post: deny is none of its words", post, []string{"print", `{"decision":"deny"}`}, "", "", ""},

		{"stop: revise", stop, []string{"print", `{"decision":"revise","reason":"test it"}`}, hook.Revise, "test it", ""},
		{"stop: codex block", stop, []string{"print", `{"decision":"block","reason":"test it"}`}, hook.Revise, "test it", ""},
		{"stop: exit 2", stop, []string{"exit", "2", "test it"}, hook.Revise, "test it", ""},
		{"stop: no reason", stop, []string{"print", `{"decision":"revise"}`}, "", "", ""},
		{"stop: finish", stop, []string{"print", `{"decision":"finish","reason":"done"}`}, hook.Finish, "done", ""},
		{"stop: continue false", stop, []string{"print", `{"continue":false,"stopReason":"done"}`}, hook.Finish, "done", ""},
		{"stop: retry", stop, []string{"print", `{"decision":"revise","reason":"a","retry":{"instruction":"b"}}`}, hook.Revise, "a\n\nb", ""},
		{"stop: retry of nothing", stop, []string{"print", `{"decision":"revise","reason":"a","retry":{}}`}, "", "", ""},
		{"stop: fails", stop, []string{"exit", "3", ""}, "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := hooks(command(tc.event, tc.how...))
			got := newChain(handlers.Options{Hooks: h}).Answer(t.Context(), call(t, tc.event, nil))
			want := hook.Answer{Decision: tc.decision, Reason: tc.reason}
			if tc.input != "" {
				want.Input = []byte(tc.input)
			}
			cause, isFailure := strings.CutPrefix(tc.reason, failed)
			if isFailure {
				for _, part := range []string{cause, "hook handler", "/u/config.toml:7", "failed"} {
					if !strings.Contains(got.Reason, part) {
						t.Errorf("the reason says nothing of %q: %s", part, got.Reason)
					}
				}
				want.Reason = got.Reason
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			h.OnFailure = "allow"
			got = newChain(handlers.Options{Hooks: h}).Answer(t.Context(), call(t, tc.event, nil))
			if isFailure {
				want = hook.Answer{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("with on_failure = allow: %s", diff)
			}
		})
	}
}

// A handler whose files commands of the thread could write does not run.
func TestHandlerWithWritableFilesIsADenial(t *testing.T) {
	var asked []string
	o := handlers.Options{
		Hooks: hooks(command(hook.PreToolUse, "print", "")), Dir: func(string) string { return "/work" },
		CheckFiles: func(_, folder string, words []string) error {
			asked = append(asked, folder, words[len(words)-2])
			return errors.New("commands can write it")
		},
	}
	got := newChain(o).Answer(t.Context(), call(t, hook.PreToolUse, nil))
	if got.Decision != hook.Deny || !strings.Contains(got.Reason, "commands can write it") || !slices.Equal(asked, []string{"/work", "print"}) {
		t.Error(got, asked)
	}
}

func TestMissingHandlerIsADenial(t *testing.T) {
	h := command(hook.PreToolUse)
	h.Command = []string{filepath.Join(t.TempDir(), "none")}
	got := newChain(handlers.Options{Hooks: hooks(h)}).Answer(t.Context(), call(t, hook.PreToolUse, nil))
	if got.Decision != hook.Deny || !strings.Contains(got.Reason, "can't be started") {
		t.Error(got)
	}
}

func TestHandlerTimeout(t *testing.T) {
	t.Run("its own time", func(t *testing.T) {
		h := command(hook.PreToolUse, "hang")
		h.Timeout = config.Duration(50 * time.Millisecond)
		got := newChain(handlers.Options{Hooks: hooks(h)}).Answer(t.Context(), call(t, hook.PreToolUse, nil))
		if got.Decision != hook.Deny || !strings.Contains(got.Reason, "within its timeout of 50ms") {
			t.Error(got)
		}
	})
	t.Run("the hook's time", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		hangs := filepath.Join(t.TempDir(), "hangs")
		answer := make(chan hook.Answer)
		go func() {
			answer <- newChain(handlers.Options{Hooks: hooks(command(hook.PreToolUse, "hang", hangs))}).Answer(ctx, call(t, hook.PreToolUse, nil))
		}()
		for {
			if _, err := os.Stat(hangs); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
		if got := <-answer; got.Decision != hook.Deny || !strings.Contains(got.Reason, "before the hook's time was up") {
			t.Error(got)
		}
	})
	t.Run("no time left", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("gone"))
		kept := filepath.Join(t.TempDir(), "kept")
		got := newChain(handlers.Options{Hooks: hooks(command(hook.PreToolUse, "keep", kept))}).Answer(ctx, call(t, hook.PreToolUse, nil))
		if _, err := os.Stat(kept); got.Decision != hook.Deny || err == nil {
			t.Error(got, err)
		}
	})
}

func TestHandlerGetsPayloadFolderAndEnvironment(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	kept := filepath.Join(dir, "kept")
	for name, value := range map[string]string{"CODEX_BRIDGE_STATE": "x", "API_TOKEN": "hunter2", "LC_ALL": "C", "CODEX_HOME": "/c"} {
		t.Setenv(name, value)
	}
	o := handlers.Options{Hooks: hooks(command(hook.PreToolUse, "keep", kept), command(hook.PreToolUse, "where"))}
	c := call(t, hook.PreToolUse, map[string]any{"cwd": dir})
	check := func(want string) {
		t.Helper()
		got := newChain(o).Answer(t.Context(), c)
		lines := strings.Split(got.Reason, "\n")
		if real, _ := filepath.EvalSymlinks(want); lines[0] != want && lines[0] != real {
			t.Errorf("ran in %s, not %s", lines[0], want)
		}
		for _, name := range []string{"CODEX_BRIDGE_", "hunter2"} {
			if strings.Contains(strings.ReplaceAll(got.Reason, "\nCODEX_BRIDGE_CHILD=", "\n"), name) { // the variable that marks a child of the bridge
				t.Errorf("the handler got %s", name)
			}
		}
		for _, name := range []string{"\nLC_ALL=C", "\nCODEX_HOME=/c"} {
			if !strings.Contains(got.Reason, name) {
				t.Errorf("the handler did not get %s", name)
			}
		}
	}
	check(dir)
	o.Dir = func(session string) string { return map[string]string{"s": other}[session] }
	check(other)
	// a subagent uses the folder of its own thread
	c = call(t, hook.PreToolUse, map[string]any{"cwd": dir, "session_id": "parent", "agent_id": "s"})
	check(other)
	text, err := os.ReadFile(kept)
	if err != nil || string(text) != string(c.Payload) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestConcurrentAnswers(t *testing.T) {
	c := newChain(handlers.Options{Hooks: hooks(command(hook.PreToolUse, "exit", "2", "no"))})
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if got := c.Answer(t.Context(), call(t, hook.PreToolUse, nil)); got.Decision != hook.Deny || got.Reason != "no" {
				t.Error(got)
			}
		})
	}
	wg.Wait()
}
