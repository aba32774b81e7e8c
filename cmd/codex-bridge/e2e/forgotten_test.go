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

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// forgetting are the ways in which a thread loses its verification while a turn of it runs, and one
// in which it does not.
var forgetting = map[string]func(a *conversation, thread, config string){
	"the policy is tightened": func(a *conversation, _, config string) {
		a.world.write("config.toml", strings.Replace(config, "workspace-write", "read-only", 1)+withLongGrace(config))
		a.waitUntil("the new policy", func() bool { return strings.Contains(a.Stderr(), "the configuration has changed") })
	},
	refusedResume: func(a *conversation, thread, _ string) {
		if _, err := a.Call(a.ctx, "thread/resume", map[string]any{"threadId": thread, "cwd": a.root}); err == nil {
			a.t.Error("a running thread resumed in another folder")
		}
	},
	"": func(*conversation, string, string) {}, // the control
}

// refusedResume is a resume that Codex ignores and the bridge refuses: the thread stays verified.
const refusedResume = "a resume is refused"

// waitUntil waits until is returns true.
func (c *conversation) waitUntil(what string, is func() bool) {
	c.t.Helper()
	for !is() {
		select {
		case <-c.ctx.Done():
			c.t.Fatalf("timeout: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// If a thread loses its verification during a turn, the turn and its agents run no more commands:
// the gate, the protected paths and the user's rules would not apply.
func TestForgottenThreadRunsNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		approval, config string
		agent, rule      bool
		last             string // the last command, relative to the world
		left             bool   // in the control, the last command creates its file
		asked            int32  // questions in the control
	}{
		"where every command is asked for": {approval: "untrusted", config: "sandbox = \"workspace-write\"\nprotected_paths = [\".github\"]\n", last: "workspace/two", left: true, asked: 2},
		"at a protected path":              {approval: "untrusted", config: "sandbox = \"workspace-write\"\nprotected_paths = [\".github\"]\n", last: "workspace/deep/.github/two", asked: 1},
		"in an agent":                      {approval: "untrusted", config: "sandbox = \"workspace-write\"\n", agent: true, last: "workspace/two", left: true, asked: 2},
		"by a rule of the project":         {approval: "on-request", config: "sandbox = \"workspace-write\"\nproject_trust = \"user\"\n", rule: true, last: "outside"},
	} {
		for how, forget := range forgetting {
			if !isSampledName(3, name+", "+how) {
				continue
			}
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
				_, mark := a.startTurn(thread, "BEGIN")
				a.waitUntil("the first command", func() bool { return w.hasFile("workspace/one") })
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
				want, kept := test.asked, how == "" || how == refusedResume
				if !kept {
					want = min(want, 1)
				}
				if left := w.hasFile(test.last); left != (test.left && kept) || denied == kept || asked.Load() != want {
					t.Errorf("the command ran: %t, denied: %t, %d questions, want %d", left, denied, asked.Load(), want)
				}
				a.CloseInput()
			})
		}
	}
}
