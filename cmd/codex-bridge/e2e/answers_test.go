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

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
)

// answerAttack is a client that answers a question of codex with more than it may.
// $ROOT and $CWD stand for the world's folders.
type answerAttack struct {
	approval string            // of the thread, and of the policy; empty: untrusted
	says     string            // to the model, in each of two turns
	steps    []scripted.Step   // what the model answers
	answer   map[string]string // by method, JSON
	gains    func(answered) bool
	runs     int // how many of the two turns' commands may run under a policy, at least and at most
}

// answered is what came of the answers.
type answered struct {
	*world
	config []byte   // codex's, before
	asked  []string // the methods of the questions, in order
	ran    int      // tools that did not fail
}

var answerAttacks = map[string]answerAttack{
	// The rule for commands that codex offers to remember, for all threads.
	"amendment": {says: "RUN: echo out", answer: one(commandApproval, `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo","out"]}}}`), gains: ruled, runs: 2},
	"widened":   {says: "RUN: echo out", answer: one(commandApproval, `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]}}}`), gains: ruled},
	"emptied":   {says: "RUN: echo out", answer: one(commandApproval, `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo"]}}}`), gains: ruled},
	// codex does not ask again.
	"session":      {says: "RUN: echo out", answer: one(commandApproval, `{"decision":"acceptForSession"}`), gains: askedOnce},
	"session map":  {says: "RUN: echo out", answer: one(commandApproval, `{"decision":{"acceptForSession":null}}`), gains: askedOnce},
	"file session": {says: "PATCH: $CWD/patched\nx", answer: one(fileApproval, `{"decision":"acceptForSession"}`), gains: askedOnce},
	// A grant of what the model asks for: of more than that, codex makes what was
	// asked for.
	"permissions": {
		approval: "on-request", says: "PERMIT",
		steps: []scripted.Step{
			{When: "PERMIT", Reply: scripted.Reply{scripted.Call{Tool: "request_permissions", Arguments: json.RawMessage(`{"reason":"r","permissions":{"file_system":{"write":["$ROOT"]}}}`)}}},
			{When: "permissions", Reply: scripted.Reply{scripted.Run("touch $ROOT/marker")}},
		},
		answer: one("item/permissions/requestApproval", `{"permissions":{"fileSystem":{"write":["$ROOT"]}},"scope":"session"}`), gains: leftMarker,
	},
	// A tool of a server, for good.
	"tool always":  {says: "CALL: mcp__probe/touch {\"path\":\"$ROOT/touched\"}", answer: one("mcpServer/elicitation/request", `{"action":"accept","content":{},"_meta":{"persist":"always"}}`), gains: persisted},
	"tool session": {says: "CALL: mcp__probe/touch {\"path\":\"$ROOT/touched\"}", answer: one("mcpServer/elicitation/request", `{"action":"accept","content":{},"_meta":{"persist":"session"}}`), gains: askedOnce},
}

func one(method, answer string) map[string]string { return map[string]string{method: answer} }

// ruled: codex has a rule for commands that it had not.
func ruled(a answered) bool {
	rules, err := filepath.Glob(filepath.Join(a.home, "rules", "*"))
	return err != nil || len(rules) > 0
}

// askedOnce: only the first of two turns has asked.
func askedOnce(a answered) bool { return len(a.asked) < 2 }

func leftMarker(a answered) bool { return fileExists(filepath.Join(a.root, "marker")) }

// persisted: it stands in the user's configuration.
func persisted(a answered) bool {
	b, err := os.ReadFile(filepath.Join(a.home, "config.toml"))
	return err != nil || !bytes.Equal(b, a.config)
}

// try lets the model ask for the same in two turns.
func (a answerAttack) try(t *testing.T, o options, argv ...string) answered {
	t.Helper()
	o.codexConfig = "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n" + besideConfig
	w := newWorld(t, o)
	fill := strings.NewReplacer("$ROOT", w.root, "$CWD", w.workspace)
	var mu sync.Mutex
	result := answered{world: w}
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
	result.config = (&assault{conversation: c}).config()
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
		turn, mark := c.begin(thread, fill.Replace(a.says))
		c.end(thread, turn, mark)
	}
	c.quit()
	for _, r := range w.model.Requests() {
		for _, output := range r.ToolOutputs() {
			if strings.Contains(output, "Process exited with code 0") {
				result.ran++
			}
		}
	}
	return result
}

// Codex alone gives a client what its answer says.
func TestAnswersControl(t *testing.T) {
	t.Parallel()
	for name, a := range answerAttacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := a.try(t, options{}, codexPath, "app-server"); !a.gains(got) {
				t.Errorf("nothing gained: asked %q, %d commands ran", got.asked, got.ran)
			}
		})
	}
}

// Under a policy it gives what the question was about, once, or nothing.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, a := range answerAttacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options{config: policyConfig}
			if a.approval != "" {
				o.config = strings.Replace(policyConfig, "untrusted", a.approval, 1)
			}
			o.config += "escalation = \"ask\"\n" // the patch is more than read-only
			o, dir := withTee(t, o)
			got := a.try(t, o, proxyArgv...)
			if a.gains(got) || got.ran < a.runs {
				t.Errorf("gained: %t; asked %q, %d commands ran; codex was told\n%s", a.gains(got), got.asked, got.ran, answersIn(recordedLines(t, dir, "in")))
			}
		})
	}
}

// answersIn are the answers among lines.
func answersIn(lines []json.RawMessage) string {
	var b strings.Builder
	for _, line := range lines {
		if editor.Member(line, "method") == "" {
			b.Write(line)
		}
	}
	return b.String()
}

// answerForms are answers that say nothing that was offered, or say it twice, or
// under another id; $ID is the question's.
var answerForms = map[string][]string{
	"nonsense":     {`{"id":$ID,"result":{"decision":"acceptAlways"}}`},
	"other case":   {`{"id":$ID,"result":{"decision":"Accept"}}`},
	"look-alike":   {`{"id":$ID,"result":{"Decision":"accept"}}`},
	"nothing":      {`{"id":$ID,"result":{}}`},
	"null":         {`{"id":$ID,"result":null}`},
	"number":       {`{"id":$ID,"result":{"decision":1}}`},
	"array":        {`{"id":$ID,"result":["decline"]}`},
	"error":        {`{"id":$ID,"error":{"code":-32000,"message":"accept"}}`},
	"both":         {`{"id":$ID,"error":{"code":-32000,"message":"x"},"result":{"decision":"accept"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
	"duplicate":    {`{"id":$ID,"result":{"decision":"decline","decision":"accept"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
	"raw":          {`{"id":$ID,"result":{"$serde_json::private::RawValue":"{\"decision\":\"accept\"}"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
	"not offered":  {`{"id":$ID,"result":{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"*","action":"allow"}}}}}`},
	"twice":        {`{"id":$ID,"result":{"decision":"decline"}}`, `{"id":$ID,"result":{"decision":"accept"}}`},
	"id as string": {`{"id":"$ID","result":{"decision":"accept"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
	"id escaped":   {`{"id":"\u003$ID","result":{"decision":"accept"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
	"id with sign": {`{"id":-$ID,"result":{"decision":"decline"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
	"with method":  {`{"id":$ID,"method":"model/list","params":{},"result":{"decision":"accept"}}`, `{"id":$ID,"result":{"decision":"decline"}}`},
}

// A client that does not say a plain yes has said no, and an answer counts once.
// Codex alone does the same of most: what would be seen is that the bridge makes a
// yes of one, or lets two through.
func TestAnswersForm(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: policyConfig + "gate = false\n"})
	w := newWorld(t, o)
	c := w.open(proxyArgv...)
	c.initialize(nil)
	questions := map[string]string{}
	for name, answers := range answerForms {
		thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"}) // one may ask 12 times in a minute
		turn, mark := c.begin(thread, "RUN: echo out")
		question := c.waitFor(mark, commandApproval, nil)
		questions[string(question.ID)] = name
		if err := c.Send([]byte(strings.ReplaceAll(strings.Join(answers, "\n"), "$ID", string(question.ID)))); err != nil {
			t.Fatal(err)
		}
		c.end(thread, turn, mark)
		for _, m := range c.Messages()[mark:] {
			// codex takes what was not offered for a yes, and so it is one, to this once.
			if m.Param("item", "type") == "commandExecution" && m.Param("item", "status") == "completed" && name != "not offered" {
				t.Errorf("%s: it ran: %s", name, m.Raw)
			}
		}
	}
	c.quit()
	told := map[string]int{}
	for line := range strings.Lines(answersIn(recordedLines(t, dir, "in"))) {
		name := questions[editor.Member(json.RawMessage(line), "id")]
		if told[name]++; told[name] > 1 || strings.Contains(line, "Amendment") {
			t.Errorf("%s: codex was told %s", name, line)
		}
	}
	if len(told) != len(answerForms) {
		t.Errorf("codex has heard of %d answers to %d questions", len(told), len(answerForms))
	}
}

// An answer to what was not asked yet is none. It has no effect on codex either,
// but it may not wait in the bridge.
func TestAnswersEarly(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: policyConfig + "gate = false\n"})
	w := newWorld(t, o)
	release := make(chan struct{})
	w.model.Add(scripted.Step{When: "HOLD", Reply: scripted.Reply{scripted.Paused{Until: release}, scripted.Run("echo out")}})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	turn, mark := c.begin(thread, "HOLD")
	c.waitFor(mark, "item/agentMessage/delta", nil)
	for id := range 21 {
		if err := c.Send([]byte(fmt.Sprintf(`{"id":%d,"result":{"decision":"accept"}}`, id))); err != nil {
			t.Fatal(err)
		}
	}
	c.must("thread/loaded/list", map[string]any{}) // all that was read
	close(release)
	if err := c.Reply(c.waitFor(mark, commandApproval, nil), decision("decline")); err != nil {
		t.Fatal(err)
	}
	c.end(thread, turn, mark)
	c.quit()
	if ran(w) {
		t.Error("it ran")
	}
	if said := answersIn(recordedLines(t, dir, "in")); strings.Count(said, "\n") != 1 {
		t.Errorf("codex was told\n%s", said)
	}
}

// ran reports whether a command of the model's was carried out.
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
