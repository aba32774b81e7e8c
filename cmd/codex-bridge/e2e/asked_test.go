//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// user is an editor that gives one answer to every question and counts the questions.
type user struct {
	*conversation
	mu     sync.Mutex
	answer string // JSON
	asked  []string
}

func (w *world) newUser() *user { return w.newUserOf(proxyArgv) }

func (w *world) newUserOf(argv []string) *user {
	w.t.Helper()
	p := &user{}
	p.conversation = &conversation{world: w, ctx: deadline(w.t), Editor: w.start(argv, editor.Options{
		Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.asked = append(p.asked, m.Method)
			return json.RawMessage(p.answer), nil
		},
	})}
	p.initialize(nil)
	return p
}

// turn runs one turn with this answer and returns the number of questions.
func (p *user) turn(thread, text, answer string) int {
	p.t.Helper()
	p.mu.Lock()
	p.answer, p.asked = answer, nil
	p.mu.Unlock()
	turn, mark := p.startTurn(thread, text)
	if status := p.waitTurn(thread, turn, mark); status != "completed" {
		p.t.Errorf("the turn %q has status %q", text, status)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// The bridge remembers a lasting consent to a server's tool for exactly these arguments. Codex asks
// each time and stores nothing.
func TestToolConsentIsRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{
		codexConfig: mcpConfig("probe"),
		config:      "[policy]\napproval = [\"untrusted\"]\n[approvals]\nremember = \"always\"\n",
	})
	configuration := w.read("home/config.toml")
	untrusted := map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"}
	p := w.newUser()
	thread := p.thread(untrusted)
	calls := map[string]int{}
	call := func(thread, arguments, persist string, want int) {
		t.Helper()
		answer := `{"action":"accept","content":{},"_meta":{"persist":"` + persist + `"}}`
		if asked := p.turn(thread, "CALL: mcp__probe/touch "+strings.ReplaceAll(arguments, "$ROOT", w.root), answer); asked != want {
			t.Errorf("%s, %s: asked %d times, want %d", arguments, persist, asked, want)
		}
		var at struct{ Path string }
		if err := json.Unmarshal([]byte(arguments), &at); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(at.Path, "$ROOT/")
		calls[name]++
		if got := strings.Count(w.read(name), "touched"); got != calls[name] || !strings.Contains(w.lastToolOutput(), "touched") {
			t.Errorf("%s: the tool ran %d times of %d; the model got %q", arguments, got, calls[name], w.lastToolOutput())
		}
	}
	call(thread, `{"path":"$ROOT/session"}`, "session", 1)
	call(thread, `{"path":"$ROOT/session"}`, "session", 0)
	call(thread, `{ "path": "$ROOT/\u0073ession" }`, "session", 0) // the same arguments
	call(thread, `{"path":"$ROOT/session","more":1}`, "session", 1)
	call(thread, `{"more":1,"path":"$ROOT/session"}`, "session", 0)
	call(thread, `{"more":1.0,"path":"$ROOT/session"}`, "", 1)
	call(thread, `{"path":"$ROOT/session "}`, "", 1)
	call(thread, `{"path":"$ROOT/always"}`, "always", 1)

	second := p.thread(untrusted)
	call(second, `{"path":"$ROOT/session"}`, "", 1)
	call(second, `{"path":"$ROOT/always"}`, "", 0)
	p.closeAndWait()

	p = w.newUser()
	p.resume(thread, untrusted)
	call(thread, `{"path":"$ROOT/session"}`, "", 1)
	call(thread, `{"path":"$ROOT/always"}`, "", 0)
	revoke := exec.CommandContext(deadline(t), proxyPath, "grants", "revoke", "--all")
	revoke.Env, revoke.Dir = w.env, w.workspace
	if out, err := revoke.CombinedOutput(); err != nil || !strings.Contains(string(out), "1 revoked") {
		t.Errorf("%v: %s", err, out)
	}
	call(thread, `{"path":"$ROOT/always"}`, "", 1)
	p.closeAndWait()
	if now := w.read("home/config.toml"); now != configuration {
		t.Errorf("Codex's configuration changed to\n%s", now)
	}
}

// The bridge keeps an amendment only as the question offers it. TestAnswersGainWithoutBridge has the control: Codex
// alone keeps a wider one.
func TestUnofferedAmendmentIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\napproval = [\"untrusted\"]\n[approvals]\nremember = \"always\"\n"})
	p := w.newUser()
	thread := p.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	for i, step := range []struct {
		prefix string
		asked  int
	}{{"touch", 1}, {"echo", 1}, {"echo out", 1}, {"echo out", 0}} {
		answer := fmt.Sprintf(`{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":[%q]}}}`, step.prefix)
		if asked := p.turn(thread, "RUN: echo out", answer); asked != step.asked || !strings.Contains(w.lastToolOutput(), "exited with code 0") {
			t.Errorf("%d: with %q asked %d times, want %d; the model got %q", i, step.prefix, asked, step.asked, w.lastToolOutput())
		}
	}
	warned := 0
	for _, m := range p.Messages() {
		if m.Method == "configWarning" && strings.Contains(string(m.Params), "an answer that the question does not offer") {
			warned++
		}
	}
	if warned != 1 {
		t.Errorf("%d warnings, want 1", warned)
	}
	p.closeAndWait()
}

// A granted permission lasts for the turn, whatever duration was granted, and only within the
// policy's limits.
func TestPermissionLastsForTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{
		codexConfig: "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n",
		config:      "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n",
	})
	w.write("workspace/sub/here", "")
	w.write("outside/here", "")
	sub, outside := filepath.Join(w.workspace, "sub"), filepath.Join(w.root, "outside")
	request := fmt.Sprintf(`{"reason":"r","permissions":{"network":{"enabled":true},"file_system":{"write":[%q,%q]}}}`, sub, outside)
	grant := fmt.Sprintf(`{"permissions":{"network":{"enabled":true},"fileSystem":{"write":[%q,%q]}},"scope":"session"}`, sub, outside)
	touch := func(name string) scripted.Item {
		return scripted.Run("touch " + filepath.Join(sub, name) + "; touch " + filepath.Join(outside, name))
	}
	w.model.Add(scripted.Step{When: "PERMIT", Reply: scripted.Reply{scripted.Call{Tool: "request_permissions", Arguments: json.RawMessage(request)}}})
	w.model.Add(scripted.Step{When: "permissions", Reply: scripted.Reply{touch("granted")}})
	w.model.Add(scripted.Step{When: "LATER", Reply: scripted.Reply{touch("later")}})

	p := w.newUser()
	thread := p.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	if asked := p.turn(thread, "PERMIT", grant); asked != 1 {
		t.Errorf("%d questions", asked)
	}
	requests := w.model.Requests()
	if output := requests[len(requests)-2].ToolOutputs()[0]; !strings.Contains(output, sub) || strings.Contains(output, outside) || strings.Contains(output, `"enabled":true`) {
		t.Errorf("the model got %s", output)
	}
	p.turn(thread, "LATER", "{}")
	for name, want := range map[string]bool{"workspace/sub/granted": true, "outside/granted": false, "workspace/sub/later": false, "outside/later": false} {
		if w.hasFile(name) != want {
			t.Errorf("%s written %t", name, !want)
		}
	}
	p.closeAndWait()
}

// A question of the model reaches the user, and the answer reaches the model unchanged.
func TestQuestionReachesUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{
		codexConfig: "suppress_unstable_features_warning = true\n[features]\ndefault_mode_request_user_input = true\n",
		config:      policyConfig + "[approvals]\ntimeout = \"1ms\"\n", // only for approvals
	})
	p := w.newUser()
	thread := p.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	if asked := p.turn(thread, "ASK: Shall I?", `{"answers":{"choice":{"answers":["No","user_note: not on a Friday"]}}}`); asked != 1 {
		t.Errorf("%d questions", asked)
	}
	if output := w.lastToolOutput(); !strings.Contains(output, `"answers":["No","user_note: not on a Friday"]`) {
		t.Errorf("the model got %s", output)
	}
	p.closeAndWait()
}

// The model can give its question the id of a question that Codex asks itself. It stays the model's: the answer reaches
// it unchanged, as with Codex alone, and is in the log as no consent.
func TestQuestionWithIDOfCodexReachesUser(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{{codexPath, "app-server"}, proxyArgv} {
		o := options{codexConfig: "suppress_unstable_features_warning = true\n[features]\ndefault_mode_request_user_input = true\n"}
		if argv[0] == proxyArgv[0] {
			o.config = policyConfig
		}
		w := newWorld(t, o)
		p := w.newUserOf(argv)
		thread := p.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
		for id, label := range map[string]string{"mcp_tool_call_approval_call_9": "Allow", "mcp_tool_call_approval": "Yes", "skill_mcp_dependency_install": "Install"} {
			ask := fmt.Sprintf(`CALL: request_user_input {"questions":[{"id":%q,"header":"h","question":"Shall I?","isOther":false,"options":[{"label":%q,"description":"d"},{"label":"No","description":"d"}]}]}`, id, label)
			if asked := p.turn(thread, ask, fmt.Sprintf(`{"answers":{%q:{"answers":[%q]}}}`, id, label)); asked != 1 {
				t.Errorf("%s: %s: %d questions", argv, id, asked)
			}
			if output := w.lastToolOutput(); !strings.Contains(output, fmt.Sprintf(`"answers":[%q]`, label)) {
				t.Errorf("%s: %s: the model got %s", argv, id, output)
			}
		}
		p.closeAndWait()
		if argv[0] == codexPath {
			continue
		}
		if list, _, _ := w.runCommand("decisions", "list"); strings.Contains(list, "requestUserInput") {
			t.Errorf("the log has %s", list)
		}
	}
}

// An unanswered question is declined after approvals.timeout, and when the editor disconnects. A
// late answer has no effect.
func TestUnansweredQuestionIsDeclined(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ gate, output string }{
		"asked by the bridge": {"true", "no answer came within 300ms"},
		"asked by codex":      {"false", "rejected by user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\ngate = " + test.gate + "\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n" +
				"[approvals]\ntimeout = \"300ms\"\n", codexConfig: mcpConfig("probe")})
			c := w.open(proxyArgv...)
			c.initialize(nil)
			thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
			for text, asked := range map[string]struct{ question, output string }{
				"RUN: echo x > late": {commandApproval, test.output},
				"PATCH: late":        {fileApproval, test.output},
				`CALL: mcp__probe/touch {"path":"` + w.workspace + `/late"}`: {"mcpServer/elicitation/request", "re"},
			} {
				turn, mark := c.startTurn(thread, text)
				question := c.waitFor(mark, asked.question, nil)
				if status := c.waitTurn(thread, turn, mark); status != "completed" || !strings.Contains(w.lastToolOutput(), asked.output) {
					t.Errorf("%s: status %q, the model got %q", text, status, w.lastToolOutput())
				}
				if err := c.Reply(question, map[string]any{"decision": "accept", "action": "accept"}); err != nil {
					t.Fatal(err)
				}
				c.must("thread/loaded/list", map[string]any{}) // a barrier: all lines were read
				c.checkAbsent("late")
			}
			_, mark := c.startTurn(thread, "RUN: echo x > late")
			c.waitFor(mark, commandApproval, nil)
			c.closeAndWait()
			c.checkAbsent("late")
		})
	}
}
