//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// subagentsConfig denies and allows by rule, and forbids escalations.
const subagentsConfig = `
[policy]
mode = "enforce"
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
[[policy.rule]]
command = "touch **"
decision = "allow"
[[policy.rule]]
command = "mkdir **"
decision = "deny"
reason = "Folders are made by people."
`

// spawnAgent makes a thread's model start a subagent with a task, and waits for its end. It returns
// the subagent's thread and its last message.
func (a *conversation) spawnAgent(thread, task string) (child, said string) {
	a.t.Helper()
	message, err := json.Marshal(map[string]string{"message": task})
	if err != nil {
		a.t.Fatal(err)
	}
	turn, mark := a.startTurn(thread, "CALL: multi_agent_v1/spawn_agent "+string(message))
	a.waitTurn(thread, turn, mark)
	spawned, err := a.Wait(a.ctx, mark, func(m editor.Message) bool {
		return m.Method == "item/completed" && m.Param("item", "type") == "collabAgentToolCall"
	})
	if err != nil {
		a.t.Fatal(err)
	}
	var item struct {
		Item struct{ ReceiverThreadIDs []string }
	}
	if err := json.Unmarshal(spawned.Params, &item); err != nil || len(item.Item.ReceiverThreadIDs) != 1 {
		a.t.Fatalf("%v: %s", err, spawned.Raw)
	}
	child = item.Item.ReceiverThreadIDs[0]
	if _, err := a.Wait(a.ctx, mark, func(m editor.Message) bool {
		return m.Method == "turn/completed" && m.Param("threadId") == child
	}); err != nil {
		a.t.Fatal(err)
	}
	for _, m := range a.Messages()[mark:] {
		if m.Method == "item/completed" && m.Param("threadId") == child && m.Param("item", "type") == "agentMessage" {
			said = m.Param("item", "text")
		}
	}
	return child, said
}

// questionReasons returns the reasons of all questions.
func (a *acceptingEditor) questionReasons() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.reasons)
}

// The policy of the parent applies to a subagent: its hooks give the reasons to its model, also for
// Codex's questions about the subagent's thread, which no client opened.
func TestSubagents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: subagentsConfig})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	a.spawnAgent(thread, "RUN: echo in > inside")
	a.spawnAgent(thread, "PATCH: patched")
	a.checkPresent("inside", "patched")
	for name, try := range map[string]struct{ task, reason string }{
		"a rule":    {"RUN: mkdir made", "Folders are made by people"},
		"escalated": {"ESCALATE: touch " + filepath.Join(w.root, "out"), "the model requests to run it outside the sandbox"},
		"a patch":   {"PATCH: " + filepath.Join(w.root, "out"), "it would leave the sandbox"},
		"protected": {"PATCH: .git/out", "it would leave the sandbox"},
	} {
		if _, said := a.spawnAgent(thread, try.task); !strings.Contains(said, try.reason) {
			t.Errorf("%s: the subagent's model got %q", name, said)
		}
	}
	a.checkAbsent("made", ".git/out")
	if asked := a.questionReasons(); w.hasFile("out") || len(asked) > 0 {
		t.Errorf("left the sandbox: %v; questions %q", w.hasFile("out"), asked)
	}
	a.closeAndWait()
}

// If everything asks, the editor gets questions about a subagent's commands in the sandbox, and
// escalations are denied. The editor can't start a turn in the subagent's thread.
func TestSubagentsAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: subagentsConfig + "[trace]\nenabled = true\n"})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
	a.spawnAgent(thread, "RUN: touch allowed") // allowed by a rule
	child, _ := a.spawnAgent(thread, "RUN: echo > inside")
	a.checkPresent("allowed", "inside")
	if asked := a.questionReasons(); len(asked) != 1 || strings.Contains(asked[0], "leaves the sandbox") {
		t.Errorf("questions %q", asked)
	}
	a.spawnAgent(thread, "ESCALATE: touch "+filepath.Join(w.root, "out"))
	if asked := a.questionReasons(); w.hasFile("out") || len(asked) != 1 {
		t.Errorf("left the sandbox: %v; questions %q", w.hasFile("out"), asked)
	}
	if err := a.mustFail("turn/start", input(child, "RUN: touch again")); err.Code != -32013 {
		t.Errorf("a turn of the editor: %v", err)
	}
	a.closeAndWait()

	show := exec.Command(proxyPath, "trace", "show", thread)
	show.Env = w.env
	shown, err := show.CombinedOutput()
	if line := regexp.MustCompile(`(?m)^\S+     agent ` + child[len(child)-4:] + ` tool\.result +commandExecution .*echo > inside`); err != nil || !line.Match(shown) {
		t.Errorf("the trace lacks the subagent: %v\n%s", err, shown)
	}
}

// Under "ask" the user sees that a subagent's command leaves the sandbox, and decides.
func TestSubagentsEscalationAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: strings.Replace(subagentsConfig, "[policy]", "[policy]\nescalation = \"ask\"", 1)})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	a.spawnAgent(thread, "ESCALATE: touch "+filepath.Join(w.root, "out"))
	const want = "[codex-bridge: leaves the sandbox] the model requests to run it outside the sandbox"
	if asked := a.questionReasons(); len(asked) != 1 || asked[0] != want || !w.hasFile("out") {
		t.Errorf("asked %q, the command left its file: %v", asked, w.hasFile("out"))
	}
	a.closeAndWait()
}

// agentModels is a policy that allows one model with one effort.
const agentModels = `
[policy]
approval = ["on-request"]
models = ["gpt-5.5"]
efforts = ["medium"]
project_trust = "codex"
`

// The policy's models and efforts apply to agents that the model starts or resumes, named by the
// call, a role or the configuration. With Codex alone each reaches the provider.
func TestAgentModels(t *testing.T) {
	t.Parallel()
	role := func(name, settings string) string {
		return fmt.Sprintf("name = %q\ndescription = \"d\"\ndeveloper_instructions = \"d\"\n%s\n", name, settings)
	}
	const luna, spawn = "model = \"gpt-6-luna\"\nmodel_reasoning_effort = \"medium\"", `multi_agent_v1/spawn_agent {"message":"SAY: agent","agent_type":"odd"}`
	for name, test := range map[string]struct {
		call   string
		codex  string            // additional configuration of Codex
		files  map[string]string // below the world's root
		effort bool              // the effort is forbidden
		passes bool
	}{
		"a model":            {call: `multi_agent_v1/spawn_agent {"message":"SAY: agent","model":"gpt-6-luna","reasoning_effort":"medium"}`},
		"an effort":          {call: `multi_agent_v1/spawn_agent {"message":"SAY: agent","reasoning_effort":"high"}`, effort: true},
		"version 2":          {call: `team/spawn_agent {"task_name":"a","message":"SAY: agent","model":"gpt-6-luna","reasoning_effort":"medium","fork_turns":"none"}`, codex: "[features.multi_agent_v2]\nenabled = true\ntool_namespace = \"team\"\n"},
		"code mode":          {call: "CODE", codex: "suppress_unstable_features_warning = true\n[features]\ncode_mode = true\n"},
		"a role":             {call: spawn, files: map[string]string{"home/agents/deep/odd.toml": role("odd", luna)}},
		"a declared role":    {call: spawn, codex: "[agents.odd]\ndescription = \"d\"\nconfig_file = \"$HOME/x.toml\"\n", files: map[string]string{"home/x.toml": role("odd", luna)}},
		"a project's role":   {call: spawn, codex: "[projects.\"$WORKSPACE\"]\ntrust_level = \"trusted\"\n", files: map[string]string{"workspace/.codex/agents/x.toml": role("odd", luna)}},
		"the default role":   {call: `multi_agent_v1/spawn_agent {"message":"SAY: agent"}`, files: map[string]string{"home/agents/x.toml": role("default", luna)}},
		"the default model":  {call: `multi_agent_v1/spawn_agent {"message":"SAY: agent"}`, codex: "[agents]\ndefault_subagent_model = \"gpt-6-luna\"\ndefault_subagent_reasoning_effort = \"medium\"\n"},
		"another thread":     {call: "RESUME"},
		"nothing is named":   {call: `multi_agent_v1/spawn_agent {"message":"SAY: agent"}`, passes: true},
		"what is allowed":    {call: `multi_agent_v1/spawn_agent {"message":"SAY: agent","model":"gpt-5.5","reasoning_effort":"medium"}`, passes: true},
		"a role without one": {call: spawn, files: map[string]string{"home/agents/odd.toml": role("odd", "")}, passes: true},
	} {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, held := range []bool{false, true} {
				if test.passes && !held {
					continue
				}
				w := newWorld(t, options{config: agentModels, plugins: true}) // test.codex has its own table [features]
				own, err := os.ReadFile(filepath.Join(w.home, "config.toml"))
				if err != nil {
					t.Fatal(err)
				}
				w.write("home/config.toml", string(own)+"\n"+strings.NewReplacer("$HOME", w.home, "$WORKSPACE", w.workspace).Replace(test.codex))
				for file, text := range test.files {
					w.write(file, text)
				}
				argv := []string{codexPath, "app-server"}
				calls := []string{test.call}
				if test.call == "RESUME" {
					other := w.otherThread()
					calls = []string{`multi_agent_v1/resume_agent {"id":"` + other + `"}`, `multi_agent_v1/send_input {"target":"` + other + `","message":"SAY: agent"}`}
				}
				if held {
					argv = proxyArgv
				}
				w.model.Add(scripted.Step{When: "CODE", Reply: scripted.Reply{scripted.CustomCall{
					Tool: "exec", Input: `text(JSON.stringify(await tools.multi_agent_v1__spawn_agent({message:"SAY: agent",model:"gpt-6-luna",reasoning_effort:"medium"})))`,
				}}})
				a := w.newAcceptingEditor(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only", "model": "gpt-5.5"})
				mark := len(w.model.Requests())
				for _, call := range calls {
					if call != "CODE" {
						call = "CALL: " + call
					}
					turn, from := a.startTurn(thread, call)
					a.waitTurn(thread, turn, from)
				}
				// An agent's first request follows the call at once; a refusal is in its output.
				forbidden := func(r scripted.Request) bool {
					var body struct {
						Model     string
						Reasoning struct{ Effort string }
					}
					return json.Unmarshal(r.Body, &body) == nil && (body.Model != "gpt-5.5" || test.effort && body.Reasoning.Effort != "medium")
				}
				if !held {
					for !slices.ContainsFunc(w.model.Requests()[mark:], forbidden) {
						if a.ctx.Err() != nil {
							t.Fatalf("Codex alone sends no forbidden request; the model got %q", w.lastToolOutput())
						}
						time.Sleep(20 * time.Millisecond)
					}
					a.closeAndWait()
					continue
				}
				requests := w.model.Requests()[mark:]
				outputs := ""
				for _, r := range requests {
					outputs += strings.Join(r.ToolOutputs(), "\n")
					if forbidden(r) {
						t.Error("a forbidden model or effort reached the provider")
					}
				}
				if refused := strings.Contains(outputs, "blocked by PreToolUse hook"); refused == test.passes {
					t.Errorf("the model got %q", outputs)
				}
				a.closeAndWait()
			}
		})
	}
}

// otherThread creates a stored thread with a model that agentModels forbids.
func (w *world) otherThread() string {
	w.t.Helper()
	a := w.newAcceptingEditor(codexPath, "app-server")
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only", "model": "gpt-6-luna"})
	a.runTurn(thread, "hello")
	a.closeAndWait()
	return thread
}
