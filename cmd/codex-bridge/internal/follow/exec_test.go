package follow_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/cmd/codex-bridge/internal/follow"
)

// playExec returns what a turn prints. A line is a method and its params; "threadId" and "turnId" are added.
func playExec(t *testing.T, o follow.ExecOptions, lines ...string) (out, err string, turn *follow.ExecTurn) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o.Out, o.Err, o.OwnHooks = &stdout, &stderr, "own"
	turn = follow.NewExecTurn(o)
	turn.Opened(follow.ExecThread{
		ID: "T", Version: "0.169.0", Prompt: "do it", TempDir: "/var/tmp",
		Settings: value(t, `{"cwd":"/w","model":"m","modelProvider":"p","approvalPolicy":"never","sandbox":{"type":"workspaceWrite","writableRoots":["/w","/x"],"networkAccess":true}}`),
		Config:   value(t, `{"model_reasoning_summary":"auto"}`),
	})
	for i, line := range lines {
		if i == min(1, len(lines)-1) { // the first comes before the response with the id
			turn.Started("t", false)
		}
		method, params, _ := strings.Cut(line, " ")
		if !strings.Contains(params, `"threadId"`) {
			params = `{"threadId":"T","turnId":"t",` + strings.TrimPrefix(params, "{")
		}
		turn.Show(method, value(t, strings.Replace(params, ",}", "}", 1)))
	}
	turn.End()
	return stdout.String(), stderr.String(), turn
}

func item(event, item string) string { return "item/" + event + ` {"item":` + item + `}` }

const completed = `turn/completed {"threadId":"T","turn":{"id":"t","status":"completed","items":[],"error":null}}`

// The app-server's camelCase becomes the snake_case of exec.
func TestExecItems(t *testing.T) {
	for item, want := range map[string]string{
		`{"type":"agentMessage","id":"a","text":"<\u00e4>"}`:                                                             `{"id":"item_0","type":"agent_message","text":"<\u00e4>"}`,
		`{"type":"reasoning","id":"a","summary":["x","<y>"]}`:                                                            `{"id":"item_0","type":"reasoning","text":"x\n<y>"}`,
		`{"type":"reasoning","id":"a","summary":[" "]}`:                                                                  ``,
		`{"type":"userMessage","id":"a","content":[]}`:                                                                   ``,
		`{"type":"plan","id":"a","text":"x"}`:                                                                            ``,
		`{"type":"commandExecution","id":"a","command":"c","aggregatedOutput":null,"exitCode":null,"status":"declined"}`: `{"id":"item_0","type":"command_execution","command":"c","aggregated_output":"","exit_code":null,"status":"declined"}`,
		`{"type":"fileChange","id":"a","changes":[{"path":"p","kind":{"type":"update","move_path":null}},{"path":"q","kind":{"type":"delete"}}],"status":"declined"}`:                                                  `{"id":"item_0","type":"file_change","changes":[{"path":"p","kind":"update"},{"path":"q","kind":"delete"}],"status":"failed"}`,
		`{"type":"mcpToolCall","id":"a","server":"s","tool":"t","arguments":{"b":1,"a":2},"result":null,"error":{"message":"m"},"status":"failed"}`:                                                                    `{"id":"item_0","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"b":1,"a":2},"result":null,"error":{"message":"m"},"status":"failed"}`,
		`{"type":"mcpToolCall","id":"a","server":"s","tool":"t","arguments":null,"result":{"content":[1],"structuredContent":null,"_meta":null},"error":null,"status":"completed"}`:                                    `{"id":"item_0","type":"mcp_tool_call","server":"s","tool":"t","arguments":null,"result":{"content":[1],"structured_content":null},"error":null,"status":"completed"}`,
		`{"type":"collabAgentToolCall","id":"a","tool":"resumeAgent","senderThreadId":"s","receiverThreadIds":["r"],"prompt":null,"agentsStates":{"r":{"status":"pendingInit","message":null}},"status":"inProgress"}`: `{"id":"item_0","type":"collab_tool_call","tool":"wait","sender_thread_id":"s","receiver_thread_ids":["r"],"prompt":null,"agents_states":{"r":{"status":"pending_init","message":null}},"status":"in_progress"}`,
		`{"type":"webSearch","id":"a","query":"q","action":{"type":"openPage","url":null}}`:                                                                                                                            `{"id":"item_0","type":"web_search","id":"a","query":"q","action":{"type":"open_page"}}`,
	} {
		out, _, _ := playExec(t, follow.ExecOptions{JSON: true}, "turn/started {}", "item/completed {\"item\":"+item+"}")
		_, got, _ := strings.Cut(out, `{"type":"item.completed","item":`)
		if got = strings.TrimSuffix(got, "}\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", item, got, want)
		}
	}
}

func TestExecEvents(t *testing.T) {
	out, stderr, turn := playExec(t, follow.ExecOptions{JSON: true},
		`configWarning {"summary":"early","details":"why"}`,
		`configWarning {"summary":"Codex could not find bubblewrap on PATH. x"}`,
		`turn/started {"threadId":"T","turn":{"id":"t"}}`,
		`turn/started {"threadId":"S","turn":{"id":"s"}}`, // a subagent's
		`warning {"threadId":"S","message":"of another thread"}`,
		`warning {"message":"w"}`, `deprecationNotice {"summary":"old","details":null}`,
		`model/rerouted {"fromModel":"a","toModel":"b","reason":"highRiskCyberActivity"}`,
		item("started", `{"type":"agentMessage","id":"m"}`),
		item("started", `{"type":"commandExecution","id":"c","command":"c","status":"inProgress"}`),
		item("started", `{"type":"commandExecution","id":"d","command":"d","status":"inProgress"}`),
		item("completed", `{"type":"commandExecution","id":"d","command":"d","aggregatedOutput":"o","exitCode":0,"status":"completed"}`),
		`turn/plan/updated {"plan":[{"step":"s","status":"inProgress"}]}`, `turn/plan/updated {"plan":[{"step":"s","status":"completed"}]}`,
		`thread/tokenUsage/updated {"tokenUsage":{"total":{"inputTokens":1,"outputTokens":2}}}`,
		`error {"willRetry":true,"error":{"message":"again","additionalDetails":"d"}}`,
		`turn/completed {"threadId":"T","turn":{"id":"t","status":"completed","items":[{"type":"commandExecution","id":"c","command":"c","exitCode":1,"status":"failed"},{"type":"plan","id":"p","text":"the plan"}]}}`,
		`warning {"message":"late"}`,
	)
	want := `{"type":"thread.started","thread_id":"T"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"early (why)"}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_1","type":"error","message":"w"}}
{"type":"item.completed","item":{"id":"item_2","type":"error","message":"old"}}
{"type":"item.completed","item":{"id":"item_3","type":"error","message":"model rerouted: a -> b (HighRiskCyberActivity)"}}
{"type":"item.started","item":{"id":"item_4","type":"command_execution","command":"c","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.started","item":{"id":"item_5","type":"command_execution","command":"d","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_5","type":"command_execution","command":"d","aggregated_output":"o","exit_code":0,"status":"completed"}}
{"type":"item.started","item":{"id":"item_6","type":"todo_list","items":[{"text":"s","completed":false}]}}
{"type":"item.updated","item":{"id":"item_6","type":"todo_list","items":[{"text":"s","completed":true}]}}
{"type":"error","message":"again (d)"}
{"type":"item.completed","item":{"id":"item_6","type":"todo_list","items":[{"text":"s","completed":true}]}}
{"type":"item.completed","item":{"id":"item_4","type":"command_execution","command":"c","aggregated_output":"","exit_code":1,"status":"failed"}}
{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":2,"reasoning_output_tokens":0}}
`
	if diff := cmp.Diff(want, out); diff != "" || stderr != "" || *turn.Message() != "the plan" || !turn.Completed() || !turn.End() {
		t.Errorf("(-want +got)\n%s%s", diff, stderr)
	}
	<-turn.Done()
}

// A turn that fails has no message, whatever it said.
func TestExecFailure(t *testing.T) {
	said := item("completed", `{"type":"agentMessage","id":"m","text":"x"}`)
	for end, want := range map[string]string{
		`"failed","error":{"message":"m","additionalDetails":"d"}`: `{"type":"turn.failed","error":{"message":"m (d)"}}` + "\n",
		`"failed","error":null`:      `{"type":"turn.failed","error":{"message":"turn failed"}}` + "\n",
		`"interrupted","error":null`: "",
	} {
		for _, json := range []bool{true, false} {
			out, stderr, turn := playExec(t, follow.ExecOptions{JSON: json}, "turn/started {}", said, `turn/completed {"threadId":"T","turn":{"id":"t","items":[],"status":`+end+`}}`)
			if turn.End() || turn.Completed() || turn.Message() != nil || json && !strings.HasSuffix(out, `"text":"x"}}`+"\n"+want) || !json && out != "" {
				t.Errorf("%s: %s%s", end, out, stderr)
			}
		}
	}
	// An error that is final counts, even if the turn completes.
	if _, _, turn := playExec(t, follow.ExecOptions{}, "turn/started {}", `error {"willRetry":false,"error":{"message":"m"}}`, completed); turn.End() || !turn.Completed() {
		t.Error("the error does not count")
	}
}

func TestExecText(t *testing.T) {
	lines := []string{
		`deprecationNotice {"summary":"old","details":"new"}`, `warning {"message":"w"}`,
		`hook/started {"run":{"eventName":"preToolUse","status":"running","sourcePath":"own"}}`,
		`hook/completed {"run":{"eventName":"preToolUse","status":"blocked","sourcePath":"own"}}`,
		`hook/started {"run":{"eventName":"stop","status":"running","sourcePath":"user"}}`,
		`hook/completed {"run":{"eventName":"stop","status":"completed","sourcePath":"user"}}`,
		`model/rerouted {"fromModel":"a","toModel":"b"}`,
		item("started", `{"type":"commandExecution","id":"c","command":"c","cwd":"/w"}`),
		item("completed", `{"type":"commandExecution","id":"c","status":"declined","aggregatedOutput":" "}`),
		item("completed", `{"type":"commandExecution","id":"c","status":"inProgress","durationMs":1,"aggregatedOutput":"o"}`),
		item("completed", `{"type":"commandExecution","id":"c","status":"failed","exitCode":null}`),
		item("started", `{"type":"collabAgentToolCall","id":"c","tool":"spawnAgent"}`),
		item("completed", `{"type":"mcpToolCall","id":"c","server":"s","tool":"t","status":"failed","error":{"message":"m"}}`),
		item("completed", `{"type":"contextCompaction","id":"c"}`),
		`turn/diff/updated {"diff":"d"}`, `turn/diff/updated {"diff":"d"}`, `turn/diff/updated {"diff":"e"}`,
		`turn/plan/updated {"explanation":"why","plan":[{"step":"a","status":"completed"},{"step":"b","status":"inProgress"},{"step":"c","status":"pending"}]}`,
		`thread/tokenUsage/updated {"tokenUsage":{"total":{"inputTokens":1234567,"cachedInputTokens":4567,"outputTokens":1}}}`,
		item("completed", `{"type":"agentMessage","id":"m","text":"said"}`), completed,
	}
	want := `OpenAI Codex v0.169.0
--------
workdir: /w
model: m
provider: p
approval: never
sandbox: workspace-write [workdir, /tmp, $TMPDIR, /x] (network access enabled)
reasoning effort: none
reasoning summaries: auto
session id: T
--------
user
do it
deprecated: old
new
warning: w
hook: PreToolUse Blocked
hook: Stop
hook: Stop Completed
model rerouted: a -> b
exec
c in /w
 declined:
 in progress in 1ms:
o
 exited 1:
collab: SpawnAgent
mcp: s/t (failed)
m
context compacted
d
e
why
  ✓ a
  → b
  • c
codex
said
tokens used
1,230,001
`
	for _, terminals := range []bool{true, false} {
		out, stderr, _ := playExec(t, follow.ExecOptions{OutTerminal: terminals, ErrTerminal: terminals}, lines...)
		if diff := cmp.Diff(want, stderr); diff != "" || out != map[bool]string{true: "", false: "said\n"}[terminals] {
			t.Errorf("stdout %q, stderr (-want +got)\n%s", out, diff)
		}
	}
	// Colours are the only difference.
	_, stderr, _ := playExec(t, follow.ExecOptions{Colour: true}, lines...)
	for _, code := range []string{"0", "1", "2", "3", "31", "32", "33", "35", "36"} {
		if !strings.Contains(stderr, "\x1b["+code+"m") {
			t.Errorf("no colour %s", code)
		}
		stderr = strings.ReplaceAll(stderr, "\x1b["+code+"m", "")
	}
	if diff := cmp.Diff(want, stderr); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// A last message that was not printed yet, and a failure.
	_, stderr, _ = playExec(t, follow.ExecOptions{OutTerminal: true, ErrTerminal: true}, "turn/started {}", `turn/completed {"threadId":"T","turn":{"id":"t","status":"completed","items":[{"type":"agentMessage","id":"m","text":"late"}]}}`)
	if !strings.HasSuffix(stderr, "\ncodex\nlate\n") {
		t.Errorf("stderr %s", stderr)
	}
	for status, want := range map[string]string{"failed": "\nERROR: m\n", "interrupted": "\nturn interrupted\n"} {
		_, stderr, _ := playExec(t, follow.ExecOptions{}, "turn/started {}", fmt.Sprintf(`turn/completed {"threadId":"T","turn":{"id":"t","status":%q,"items":[],"error":{"message":"m"}}}`, status))
		if !strings.HasSuffix(stderr, want) {
			t.Errorf("%s: stderr %s", status, stderr)
		}
	}
}

func TestExecSandboxes(t *testing.T) {
	for sandbox, want := range map[string]string{
		`{"type":"readOnly","networkAccess":false}`:                                   "read-only",
		`{"type":"readOnly","networkAccess":true}`:                                    "read-only (network access enabled)",
		`{"type":"dangerFullAccess"}`:                                                 "danger-full-access",
		`{"type":"externalSandbox","networkAccess":"enabled"}`:                        "external-sandbox (network access enabled)",
		`{"type":"workspaceWrite","excludeSlashTmp":true,"excludeTmpdirEnvVar":true}`: "workspace-write [workdir]",
		`{"type":"workspaceWrite","writableRoots":[],"networkAccess":false}`:          "workspace-write [workdir, /tmp]",
		`{"type":"newSandbox"}`:                                                       "newSandbox",
	} {
		var stderr bytes.Buffer
		turn := follow.NewExecTurn(follow.ExecOptions{Err: &stderr})
		turn.Opened(follow.ExecThread{Settings: value(t, `{"sandbox":`+sandbox+`}`), TempDir: "/tmp"})
		if !strings.Contains(stderr.String(), "\nsandbox: "+want+"\n") {
			t.Errorf("%s: %s", sandbox, stderr.String())
		}
	}
}

// TestExecEventsLackNoticesOfTheBridge checks that a notice of the bridge goes to stderr, so that the events are those
// of Codex alone.
func TestExecEventsLackNoticesOfTheBridge(t *testing.T) {
	var out, stderr bytes.Buffer
	turn := follow.NewExecTurn(follow.ExecOptions{Out: &out, Err: &stderr, JSON: true})
	turn.Opened(follow.ExecThread{ID: "T"})
	turn.Started("t", false)
	for _, warning := range []string{
		`configWarning {"summary":"codex-bridge has changed x","details":null}`, `configWarning {"summary":"codex-bridge's hooks","details":"off"}`,
		`warning {"message":"codex-bridge has refused x"}`, `configWarning {"summary":"Codex could not find bubblewrap on PATH","details":null}`,
		`configWarning {"summary":"Codex's own","details":"why"}`, `configWarning {"summary":"and another","details":null}`,
	} {
		method, params, _ := strings.Cut(warning, " ")
		turn.Show(method, value(t, params))
	}
	const want = `{"type":"thread.started","thread_id":"T"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Codex's own (why)"}}
{"type":"item.completed","item":{"id":"item_1","type":"error","message":"and another"}}
`
	if out.String() != want || stderr.String() != "warning: codex-bridge has changed x\nwarning: codex-bridge's hooks (off)\nwarning: codex-bridge has refused x\n" {
		t.Errorf("%s%s", out.String(), stderr.String())
	}
}

// A thread that no turn follows prints its warnings.
func TestExecWithoutTurn(t *testing.T) {
	var stderr bytes.Buffer
	turn := follow.NewExecTurn(follow.ExecOptions{Err: &stderr})
	turn.Show("configWarning", value(t, `{"summary":"w"}`))
	turn.Opened(follow.ExecThread{ID: "T"})
	if !turn.End() || !strings.HasSuffix(stderr.String(), "user\n\nwarning: w\n") {
		t.Errorf("%q", stderr.String())
	}
}

// The events of a review have other turn ids, and its start comes twice.
func TestExecReview(t *testing.T) {
	var out bytes.Buffer
	turn := follow.NewExecTurn(follow.ExecOptions{Out: &out, JSON: true})
	turn.Opened(follow.ExecThread{ID: "T"})
	turn.Started("t", true)
	for _, id := range []string{"t", "u"} {
		turn.Show("turn/started", value(t, `{"threadId":"T","turn":{"id":"`+id+`"}}`))
	}
	turn.Show("turn/completed", value(t, `{"threadId":"T","turn":{"id":"u","status":"completed","items":[{"type":"agentMessage","id":"m","text":"x"}]}}`))
	if <-turn.Done(); strings.Count(out.String(), "turn.started") != 1 || *turn.Message() != "x" {
		t.Error(out.String())
	}
}
