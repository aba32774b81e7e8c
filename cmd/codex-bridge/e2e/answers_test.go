//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// answerAttack is a client whose answer to a question of Codex contains more than the question.
// $ROOT and $CWD stand for the world's folders.
type answerAttack struct {
	approval string            // of the thread and of the policy; empty: untrusted
	says     string            // the user's text in each of two turns
	steps    []scripted.Step   // the model's answers
	answer   map[string]string // by method, JSON
	gains    func(answerResult) bool
	runs     int // minimum and maximum number of commands of both turns that may run under a policy
}

// answerResult is the effect of the answers.
type answerResult struct {
	*world
	config []byte   // Codex's configuration before
	asked  []string // the methods of the questions, in order
	ran    int      // tools that did not fail
}

var answerAttacks = map[string]answerAttack{
	// A rule that Codex offers to remember, for all threads.
	"amendment": {says: "RUN: echo out", answer: answerFor(commandApproval, `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo","out"]}}}`), gains: hasNewRule, runs: 2},
	"widened":   {says: "RUN: echo out", answer: answerFor(commandApproval, `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]}}}`), gains: hasNewRule},
	"emptied":   {says: "RUN: echo out", answer: answerFor(commandApproval, `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo"]}}}`), gains: hasNewRule},
	// After this answer Codex does not ask again.
	"session":      {says: "RUN: echo out", answer: answerFor(commandApproval, `{"decision":"acceptForSession"}`), gains: askedOnce},
	"session map":  {says: "RUN: echo out", answer: answerFor(commandApproval, `{"decision":{"acceptForSession":null}}`), gains: askedOnce},
	"file session": {says: "PATCH: $CWD/patched\nx", answer: answerFor(fileApproval, `{"decision":"acceptForSession"}`), gains: askedOnce},
	// A grant. Codex replaces a larger one by the requested one.
	// asked for.
	"permissions": {
		approval: "on-request", says: "PERMIT",
		steps: []scripted.Step{
			{When: "PERMIT", Reply: scripted.Reply{scripted.Call{Tool: "request_permissions", Arguments: json.RawMessage(`{"reason":"r","permissions":{"file_system":{"write":["$ROOT"]}}}`)}}},
			{When: "permissions", Reply: scripted.Reply{scripted.Run("touch $ROOT/marker")}},
		},
		answer: answerFor("item/permissions/requestApproval", `{"permissions":{"fileSystem":{"write":["$ROOT"]}},"scope":"session"}`), gains: leftMarker,
	},
	// A lasting consent to a server's tool.
	"tool always":  {says: "CALL: mcp__probe/touch {\"path\":\"$ROOT/touched\"}", answer: answerFor("mcpServer/elicitation/request", `{"action":"accept","content":{},"_meta":{"persist":"always"}}`), gains: persisted},
	"tool session": {says: "CALL: mcp__probe/touch {\"path\":\"$ROOT/touched\"}", answer: answerFor("mcpServer/elicitation/request", `{"action":"accept","content":{},"_meta":{"persist":"session"}}`), gains: askedOnce},
}

func answerFor(method, answer string) map[string]string { return map[string]string{method: answer} }

// hasNewRule: Codex has a new rule for commands.
func hasNewRule(a answerResult) bool {
	rules, err := filepath.Glob(filepath.Join(a.home, "rules", "*"))
	return err != nil || len(rules) > 0
}

// askedOnce: only the first of two turns asked.
func askedOnce(a answerResult) bool { return len(a.asked) < 2 }

func leftMarker(a answerResult) bool { return fileExists(filepath.Join(a.root, "marker")) }

// persisted: the user's configuration has it.
func persisted(a answerResult) bool {
	b, err := os.ReadFile(filepath.Join(a.home, "config.toml"))
	return err != nil || !bytes.Equal(b, a.config)
}

// try makes the model request the same in two turns.
func (a answerAttack) try(t *testing.T, o options, argv ...string) answerResult {
	t.Helper()
	o.codexConfig = "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n" + besideConfig
	w := newWorld(t, o)
	fill := strings.NewReplacer("$ROOT", w.root, "$CWD", w.workspace)
	var mu sync.Mutex
	result := answerResult{world: w}
	c := &conversation{world: w, ctx: deadline(t), Editor: w.start(argv, editor.Options{
		Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
			mu.Lock()
			defer mu.Unlock()
			result.asked = append(result.asked, m.Method)
			answer, ok := a.answer[m.Method]
			if !ok {
				return decision("decline"), nil
			}
			return json.RawMessage(fill.Replace(answer)), nil
		},
	})}
	c.initialize(nil)
	approval := a.approval
	if approval == "" {
		approval = "untrusted"
	}
	thread := c.thread(map[string]any{"approvalPolicy": approval, "sandbox": "read-only"})
	result.config = (&attackRun{conversation: c}).config()
	for range 2 {
		for _, step := range a.steps {
			reply := slices.Clone(step.Reply)
			for i, item := range reply {
				if call, ok := item.(scripted.Call); ok {
					call.Arguments = json.RawMessage(fill.Replace(string(call.Arguments)))
					reply[i] = call
				}
			}
			w.model.Add(scripted.Step{When: step.When, Reply: reply})
		}
		turn, mark := c.startTurn(thread, fill.Replace(a.says))
		c.waitTurn(thread, turn, mark)
	}
	c.closeAndWait()
	for _, r := range w.model.Requests() {
		for _, output := range r.ToolOutputs() {
			if strings.Contains(output, "Process exited with code 0") {
				result.ran++
			}
		}
	}
	return result
}

// With Codex alone, a client gains the content of its answer.
func TestAnswersGainWithoutBridge(t *testing.T) {
	t.Parallel()
	for name, a := range answerAttacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := a.try(t, options{}, codexPath, "app-server"); !a.gains(got) {
				t.Errorf("no gain; questions %q, %d commands ran", got.asked, got.ran)
			}
		})
	}
}

// Under a policy the answer grants at most the question, once.
func TestAnswersGrantOnlyTheQuestion(t *testing.T) {
	t.Parallel()
	for name, a := range answerAttacks {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options{config: policyConfig}
			if a.approval != "" {
				o.config = strings.Replace(policyConfig, "untrusted", a.approval, 1)
			}
			o.config += "escalation = \"ask\"\n" // the patch needs more than read-only
			o, dir := withTee(t, o)
			got := a.try(t, o, proxyArgv...)
			if a.gains(got) || got.ran < a.runs {
				t.Errorf("gained: %t; questions %q, %d commands ran; Codex got\n%s", a.gains(got), got.asked, got.ran, answersIn(recordedLines(t, dir, "in")))
			}
		})
	}
}

// answersIn returns the answers among lines.
func answersIn(lines []json.RawMessage) string {
	var b strings.Builder
	for _, line := range lines {
		if editor.Member(line, "method") == "" {
			b.Write(line)
		}
	}
	return b.String()
}

// unreadableAnswers are answers that no strict reader takes.
var unreadableAnswers = map[string]string{
	"both":       `{"id":$ID,"error":{"code":-32000,"message":"x"},"result":{"decision":"accept"}}`,
	"duplicate":  `{"id":$ID,"result":{"decision":"decline","decision":"accept"}}`,
	"raw":        `{"id":$ID,"result":{"$serde_json::private::RawValue":"{\"decision\":\"accept\"}"}}`,
	"error null": `{"id":$ID,"error":null}`,
	"neither":    `{"id":$ID}`,
	"twice":      `{"id":$ID,"result":{"decision":"accept"},"result":{"decision":"accept"}}`,
	"cut":        `{"id":$ID,"result":{"decision":"accept"`,
}

// An unreadable answer declines, so that a question does not wait on; the log has it. With Codex alone, the question
// stays open for most forms, and a later yes counts.
func TestUnreadableAnswersDecline(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{{codexPath, "app-server"}, proxyArgv} {
		bridged := argv[0] != codexPath
		w := newWorld(t, options{config: policyConfig + "gate = false\n"})
		c := w.open(argv...)
		c.initialize(nil)
		for name, answer := range unreadableAnswers {
			thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
			turn, mark := c.startTurn(thread, "RUN: echo out")
			question := c.waitFor(mark, commandApproval, nil)
			lines := strings.ReplaceAll(answer+"\n"+`{"id":$ID,"result":{"decision":"accept"}}`, "$ID", string(question.ID))
			if err := c.Send([]byte(lines)); err != nil {
				t.Fatal(err)
			}
			c.waitTurn(thread, turn, mark)
			runs, warned := false, 0
			for _, m := range c.Messages()[mark:] {
				runs = runs || m.Param("item", "type") == "commandExecution" && m.Param("item", "status") == "completed"
				if m.Method == "warning" && strings.Contains(string(m.Params), "can't be read, so it counts as a refusal") {
					warned++
				}
			}
			if runs == bridged && name != "raw" || bridged && warned != 1 {
				t.Errorf("%s: %s: the command ran: %t; %d warnings", argv[0], name, runs, warned)
			}
		}
		c.closeAndWait()
		if log, _, _ := w.runCommand("decisions", "list"); bridged && strings.Count(log, "counts as a refusal") != len(unreadableAnswers) {
			t.Errorf("the decision log is\n%s", log)
		}
	}
}

// answerForms are answers without an offered option, with two, or with another id; $ID is the
// question's.
var answerForms = map[string][]string{
	"nonsense":     {`{"id":$ID,"result":{"decision":"acceptAlways"}}`},
	"other case":   {`{"id":$ID,"result":{"decision":"Accept"}}`},
	"look-alike":   {`{"id":$ID,"result":{"Decision":"accept"}}`},
	"nothing":      {`{"id":$ID,"result":{}}`},
	"null":         {`{"id":$ID,"result":null}`},
	"number":       {`{"id":$ID,"result":{"decision":1}}`},
	"array":        {`{"id":$ID,"result":["decline"]}`},
	"error":        {`{"id":$ID,"error":{"code":-32000,"message":"accept"}}`},
	"not offered":  {`{"id":$ID,"result":{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"*","action":"allow"}}}}}`},
	"twice":        {`{"id":$ID,"result":{"decision":"decline"}}`, `{"id":$ID,"result":{"decision":"accept"}}`},
	"id as string": {`{"id":"$ID","result":{"decision":"accept"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
	"id escaped":   {`{"id":"\u003$ID","result":{"decision":"accept"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
	"id with sign": {`{"id":-$ID,"result":{"decision":"decline"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
	"with method":  {`{"id":$ID,"method":"model/list","params":{},"result":{"decision":"accept"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
}

// Any answer but a plain yes declines, and an answer counts once. Codex alone mostly does the same:
// the test shows that the bridge makes no yes of another answer and forwards only one.
func TestUnclearAnswersDecline(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: policyConfig + "gate = false\n"})
	w := newWorld(t, o)
	c := w.open(proxyArgv...)
	c.initialize(nil)
	questions := map[string]string{}
	for name, answers := range answerForms {
		thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"}) // a thread may ask 12 times per minute
		turn, mark := c.startTurn(thread, "RUN: echo out")
		question := c.waitFor(mark, commandApproval, nil)
		questions[string(question.ID)] = name
		if err := c.Send([]byte(strings.ReplaceAll(strings.Join(answers, "\n"), "$ID", string(question.ID)))); err != nil {
			t.Fatal(err)
		}
		c.waitTurn(thread, turn, mark)
		for _, m := range c.Messages()[mark:] {
			// Codex takes an option that was not offered for a single yes.
			if m.Param("item", "type") == "commandExecution" && m.Param("item", "status") == "completed" && name != "not offered" {
				t.Errorf("%s: the command ran: %s", name, m.Raw)
			}
		}
	}
	c.closeAndWait()
	told := map[string]int{}
	for line := range strings.Lines(answersIn(recordedLines(t, dir, "in"))) {
		name := questions[editor.Member(json.RawMessage(line), "id")]
		if told[name]++; told[name] > 1 || strings.Contains(line, "Amendment") {
			t.Errorf("%s: Codex got %s", name, line)
		}
	}
	if len(told) != len(answerForms) {
		t.Errorf("Codex got %d answers to %d questions", len(told), len(answerForms))
	}
}

// wrongForms are answers with a decision that is no decision of Codex's schema, by the question's method.
var wrongForms = map[string][]string{
	commandApproval: {
		`{"acceptWithExecpolicyAmendment":null}`, `{"acceptWithExecpolicyAmendment":{}}`, `{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":"touch"}}`,
		`{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]},"decline":null}`,
	},
	fileApproval: {`{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]}}`},
}

// An answer that Codex can't read declines, with or without the gate, and the log has it. Codex alone declines, too.
func TestAnswersOfWrongFormDecline(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"Codex alone": "", "Codex's questions": "gate = false\n", "the gate's questions": "gate = true\n"} {
		argv, rule := proxyArgv, "escalation = \"ask\"\n" // the patch needs more than read-only
		if config == "" {
			argv = []string{codexPath, "app-server"}
		}
		w := newWorld(t, options{config: policyConfig + rule + config + "[approvals]\nremember = \"always\"\n"})
		c := w.open(argv...)
		c.initialize(nil)
		thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
		count := 0
		for method, decisions := range wrongForms {
			text := map[string]string{commandApproval: "RUN: echo out", fileApproval: "PATCH: patched\nx"}[method]
			for _, one := range decisions {
				count++
				c.runTurnAnswering(thread, text, method, json.RawMessage(`{"decision":`+one+`}`))
				if output := w.lastToolOutput(); strings.Contains(output, "exited with code") || w.hasFile("workspace/patched") {
					t.Errorf("%s: %s counts as a yes: the model got %q", name, one, output)
				}
			}
		}
		c.runTurnAnswering(thread, "RUN: echo out", commandApproval, decision("accept"))
		if output := w.lastToolOutput(); !strings.Contains(output, "exited with code 0") {
			t.Errorf("%s: control: after a yes the model got %q", name, output)
		}
		c.closeAndWait()
		if log, _, _ := w.runCommand("decisions", "list"); config != "" && strings.Count(log, "protocol") != count {
			t.Errorf("%s: the decision log is\n%s", name, log)
		}
	}
}

// The bridge does not store an answer that arrives before its question. Codex ignores it too.
func TestEarlyAnswersAreDropped(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: policyConfig + "gate = false\n"})
	w := newWorld(t, o)
	release := make(chan struct{})
	w.model.Add(scripted.Step{When: "HOLD", Reply: scripted.Reply{scripted.Paused{Until: release}, scripted.Run("echo out")}})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	turn, mark := c.startTurn(thread, "HOLD")
	c.waitFor(mark, "item/agentMessage/delta", nil)
	for id := range 21 {
		if err := c.Send([]byte(fmt.Sprintf(`{"id":%d,"result":{"decision":"accept"}}`, id))); err != nil {
			t.Fatal(err)
		}
	}
	c.must("thread/loaded/list", map[string]any{}) // a barrier: all lines were read
	close(release)
	if err := c.Reply(c.waitFor(mark, commandApproval, nil), decision("decline")); err != nil {
		t.Fatal(err)
	}
	c.waitTurn(thread, turn, mark)
	c.closeAndWait()
	if ran(w) {
		t.Error("the command ran")
	}
	if said := answersIn(recordedLines(t, dir, "in")); strings.Count(said, "\n") != 1 {
		t.Errorf("Codex got\n%s", said)
	}
}

// ran reports whether a command of the model ran.
func ran(w *world) bool {
	for _, r := range w.model.Requests() {
		for _, output := range r.ToolOutputs() {
			if strings.Contains(output, "Process exited") {
				return true
			}
		}
	}
	return false
}
