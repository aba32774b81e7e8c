//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
)

// forgetting are the ways in which a thread loses its verification while a turn of it runs.
var forgetting = map[string]func(a *conversation, thread, config string){
	"the policy is tightened": func(a *conversation, _, config string) {
		a.world.write("config.toml", strings.Replace(config, "workspace-write", "read-only", 1)+unhurried(config))
		a.comes("the new policy", func() bool { return strings.Contains(a.Stderr(), "the configuration has changed") })
	},
	"a resume fails": func(a *conversation, thread, _ string) {
		if _, err := a.Call(a.ctx, "thread/resume", map[string]any{"threadId": thread, "sandbox": "read-only"}); err == nil {
			a.t.Error("the resume of a running thread with another sandbox succeeds")
		}
	},
	"": func(*conversation, string, string) {}, // the control
}

// comes waits until is returns true.
func (c *conversation) comes(what string, is func() bool) {
	c.t.Helper()
	for !is() {
		select {
		case <-c.ctx.Done():
			c.t.Fatalf("waited in vain for %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A turn that runs when its thread loses its verification, and an agent that it has started, run no more
// commands. The gate, the protected paths and the user's rules would no longer hold them.
func TestForgottenThreadRunsNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		approval, config string
		agent, rule      bool
		last             string // the last command, below the world
		left             bool   // the last command leaves its file in the control
		asked            int32  // questions in the control
	}{
		"where every command is asked for": {approval: "untrusted", config: "sandbox = \"workspace-write\"\nprotected_paths = [\".github\"]\n", last: "workspace/two", left: true, asked: 2},
		"at a protected path":              {approval: "untrusted", config: "sandbox = \"workspace-write\"\nprotected_paths = [\".github\"]\n", last: "workspace/deep/.github/two", asked: 1},
		"in an agent":                      {approval: "untrusted", config: "sandbox = \"workspace-write\"\n", agent: true, last: "workspace/two", left: true, asked: 2},
		"by a rule of the project":         {approval: "on-request", config: "sandbox = \"workspace-write\"\nproject_trust = \"user\"\n", rule: true, last: "outside"},
	} {
		for how, forget := range forgetting {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				config := fmt.Sprintf("[policy]\napproval = [%q]\n%s", test.approval, test.config)
				w := newWorld(t, options{config: config, mute: "one turn"})
				w.write("workspace/deep/.github/x", "")
				if test.rule {
					w.write("workspace/.codex/rules/own.rules", allow(`["touch"]`))
					w.write("home/config.toml", fmt.Sprintf("%s\n[projects.%q]\ntrust_level = \"trusted\"\n", w.read("home/config.toml"), w.workspace))
				}
				begin := "BEGIN"
				if test.agent {
					w.model.Add(scripted.Step{When: begin, Reply: scripted.Reply{scripted.Call{Tool: "spawn_agent", Namespace: "multi_agent_v1", Arguments: []byte(`{"message":"AGENT"}`)}}})
					begin = "AGENT"
				}
				w.model.Add(scripted.Step{When: begin, Reply: scripted.Reply{scripted.Call{
					Tool: "exec_command", Arguments: []byte(`{"cmd":"touch one; while [ ! -e go ]; do sleep 0.05; done; echo FIRST","yield_time_ms":30000}`),
				}}})
				w.model.Add(scripted.Step{When: "FIRST", Reply: scripted.Reply{scripted.Run("touch " + filepath.Join(w.root, test.last))}})
				var asked atomic.Int32
				a := &conversation{world: w, ctx: deadline(t), Editor: w.start(proxyArgv, editor.Options{
					Answer: func(context.Context, editor.Message) (any, *editor.Error) {
						asked.Add(1)
						return decision("accept"), nil
					},
				})}
				a.initialize(nil)
				thread := a.thread(map[string]any{"approvalPolicy": test.approval, "sandbox": "workspace-write"})
				_, mark := a.begin(thread, "BEGIN")
				a.comes("the first command", func() bool { return w.left("workspace/one") })
				forget(a, thread, config)
				if err := os.WriteFile(filepath.Join(w.workspace, "go"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				a.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") == thread != test.agent })

				denied := false
				for _, r := range w.model.Requests() {
					for _, output := range r.ToolOutputs() {
						denied = denied || strings.Contains(output, "its settings are not verified")
					}
				}
				want := test.asked
				if how != "" {
					want = min(want, 1)
				}
				if left := w.left(test.last); left != (test.left && how == "") || denied != (how != "") || asked.Load() != want {
					t.Errorf("the command ran: %t, denied: %t, %d questions, want %d", left, denied, asked.Load(), want)
				}
				a.CloseInput()
			})
		}
	}
}
