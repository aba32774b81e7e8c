package follow_test

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/cmd/codex-bridge/internal/follow"
)

// showCapture shows the notifications of a capture of testdata/conformance, twice, and returns the lines on stderr.
func showCapture(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("../../../../testdata/conformance/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var problems strings.Builder
	s := &follow.Screen{Out: io.Discard, Err: &problems, Now: time.Now}
	for range 2 {
		for line := range strings.Lines(string(text)) {
			var step struct {
				Server struct {
					Method string
					Params json.RawMessage
				}
			}
			if err := json.Unmarshal([]byte(line), &step); err != nil {
				t.Fatal(err)
			}
			if step.Server.Method != "" {
				s.Show(step.Server.Method, value(t, string(step.Server.Params)))
			}
		}
	}
	return strings.Split(strings.TrimSpace(problems.String()), "\n")
}

// A pipe, too, gets on stderr what the policy has refused and changed, once, and the warnings of Codex.
func TestScreenShowsDecisions(t *testing.T) {
	const codexs = "warning: Codex could not find bubblewrap on PATH. Install bubblewrap with your OS package manager. See the sandbox prerequisites: " +
		"https://developers.openai.com/codex/concepts/sandboxing#prerequisites. Codex will use the bundled bubblewrap in the meantime."
	for name, want := range map[string]string{
		"refused": `warning: codex-bridge has refused "touch forbidden": This file is made by the pipeline: touch forbidden. ` +
			"The setting is policy.rule in user $ROOT/config.toml:6; change the rule, or run it yourself.",
		"changed": "warning: codex-bridge has changed sandbox to workspace-write: danger-full-access is more than workspace-write. The setting is policy.sandbox in user $ROOT/config.toml:3.",
	} {
		if diff := cmp.Diff([]string{codexs, want}, showCapture(t, name)); diff != "" {
			t.Error(name, diff)
		}
	}
}

// applied shows one decision, and returns the text on stderr.
func applied(t *testing.T, params ...string) string {
	t.Helper()
	var problems strings.Builder
	s := &follow.Screen{Out: io.Discard, Err: &problems, Now: time.Now}
	for _, one := range params {
		s.Show("bridge/policy/applied", value(t, one))
	}
	return problems.String()
}

func TestScreenShowsEachDecisionOnce(t *testing.T) {
	const hook = `{"threadId":"T","turnId":"t","itemId":"c","what":"rm x","method":"hook/preToolUse","verdict":"deny","error":{"rule":"policy.rule","reason":"no"}}`
	sandbox := func(method, field string) string {
		return `{"id":1,"method":"` + method + `","verdict":"rewrite","changes":[{"field":"params.` + field + `","rule":"policy.sandbox","reason":"too much","from":"x"}]}`
	}
	for _, c := range []struct {
		name   string
		params []string
		lines  int
		part   string
	}{
		{"a refused call, by the hook and the question", []string{hook, strings.Replace(hook, "hook/preToolUse", "item/commandExecution/requestApproval", 1)}, 1, `has refused "rm x": no. The setting is policy.rule.`},
		{"equal calls", []string{hook, strings.Replace(hook, `"c"`, `"d"`, 1)}, 2, `"rm x"`},
		{"the question of a subagent", []string{`{"id":0,"threadId":"child","method":"mcpServer/elicitation/request","verdict":"deny","error":{"reason":"no"}}`}, 1, "declined a question about an MCP server: no."},
		{"an interrupted turn", []string{`{"threadId":"T","method":"hook/completed","verdict":"deny","error":{"reason":"it failed"}}`}, 1, "has interrupted the turn: it failed."},
		{"a call without a description", []string{`{"threadId":"T","method":"hook/preToolUse","verdict":"deny","error":{"reason":"no"}}`}, 1, "has refused a tool call: no."},
		{"an answer", []string{`{"id":7,"method":"answer","verdict":"deny","error":{"reason":"late"}}`}, 1, "has refused an answer: late."},
		{"the error of a request", []string{`{"id":"codex-bridge-1","method":"turn/start","verdict":"deny","error":{"reason":"no"}}`}, 0, ""},
		{"a thread and its turns", []string{sandbox("thread/start", "sandbox"), sandbox("turn/start", "sandboxPolicy"), sandbox("turn/start", "sandboxPolicy")}, 1, "has removed sandbox: too much."},
		{"two fields", []string{sandbox("thread/start", "sandbox"), sandbox("thread/start", "config.sandbox_mode")}, 2, "config.sandbox_mode"},
		{"a narrower default", []string{`{"id":1,"method":"thread/start","verdict":"rewrite","changes":[{"field":"params.sandbox","rule":"policy.sandbox","reason":"narrow","to":"read-only","narrows":true}]}`}, 1, "changed sandbox to read-only: narrow."},
		{"an omitted value", []string{`{"id":1,"method":"thread/start","verdict":"rewrite","changes":[{"field":"params.sandbox","rule":"policy.sandbox","reason":"x","to":"read-only"}]}`}, 0, ""},
		{"a line end", []string{strings.Replace(hook, `"reason":"no"`, `"reason":"no\nwarning: \u001b[2J"`, 1)}, 1, `no\nwarning: \u001b[2J`},
		{"an unreadable decision", []string{`{"verdict":1}`}, 0, ""},
	} {
		got := applied(t, c.params...)
		if strings.Count(got, "\n") != c.lines || !strings.Contains(got, c.part) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
