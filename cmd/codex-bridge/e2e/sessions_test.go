//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// sessionPolicy is a policy for the threads of sessions.
const sessionPolicy = "[policy]\nmode = \"enforce\"\napproval = [\"on-request\"]\nsandbox = \"read-only\"\n"

// initializeWithBridge does the handshake of an editor that knows the bridge.
func (c *conversation) initializeWithBridge() *conversation {
	c.t.Helper()
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}})
	return c
}

// tool returns a dynamic tool of the client.
func tool(name, description string, properties map[string]any) map[string]any {
	return map[string]any{
		"type": "function", "name": name, "description": description,
		"inputSchema": map[string]any{"type": "object", "properties": properties},
	}
}

// startSession is thread/start of a session. It returns the id of the thread, and "action reason
// rotated transient" of the result.
func (c *conversation) startSession(key string, params, bridge map[string]any) (thread, output string) {
	c.t.Helper()
	all := map[string]any{"cwd": c.workspace}
	for k, v := range params {
		all[k] = v
	}
	about := map[string]any{"sessionKey": key}
	for k, v := range bridge {
		about[k] = v
	}
	all["bridge"] = about
	result := c.must("thread/start", all)
	if sandbox := editor.Member(result, "sandbox", "type"); sandbox != "readOnly" {
		c.t.Errorf("the session %s has the sandbox %q: the policy did not apply", key, sandbox)
	}
	return editor.Member(result, "thread", "id"), strings.Join(strings.Fields(strings.Join([]string{
		editor.Member(result, "bridge", "action"), editor.Member(result, "bridge", "reason"),
		flag(result, "rotated"), flag(result, "transient"),
	}, " ")), " ")
}

func flag(result json.RawMessage, name string) string {
	if editor.Member(result, "bridge", name) != "" {
		return name
	}
	return ""
}

// A session keeps its thread after restarts as long as the thread's start settings stay the same.
// Otherwise it gets the reason.
func TestSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	number := map[string]any{"n": map[string]any{"type": "number", "description": "how many"}}
	a, b := tool("count_up", "counts", number), tool("count_down", "counts back", number)
	list := func(tools ...map[string]any) map[string]any { return map[string]any{"dynamicTools": tools} }
	engine := func(version string) map[string]any {
		return map[string]any{"contextEngine": map[string]any{"id": "eng", "version": version}}
	}
	thread := ""
	for _, step := range []struct {
		name           string
		params, bridge map[string]any
		want           string
		same           bool // the thread of the last step with a binding
		unbound        bool // the step's own thread has no binding
	}{
		{"first", list(a, b), nil, "started notBound", false, false},
		{"again", list(a, b), nil, "resumed", true, false},
		{"other order and words", list(b, tool("count_up", "counts upwards", number)), nil, "resumed", true, false},
		{"none for now", nil, nil, "started dynamicToolsGone transient", false, true},
		{"they are back", list(a, b), nil, "resumed", true, false},
		{"another schema", list(a, tool("count_down", "counts back", map[string]any{})), nil, "started dynamicToolsChanged", false, false},
		{"an engine", list(a, tool("count_down", "", map[string]any{})), engine("1"), "started contextEngineChanged rotated", false, false},
		{"the engine again", list(a, tool("count_down", "", map[string]any{})), engine("1"), "resumed", true, false},
		{"its next version", list(a, tool("count_down", "", map[string]any{})), engine("2"), "started contextEngineChanged rotated", false, false},
	} {
		c := w.open(proxyArgv...).initializeWithBridge()
		id, output := c.startSession("chat", step.params, step.bridge)
		if output != step.want || (id == thread) != step.same {
			t.Errorf("%s: %s, same thread: %v; want %s", step.name, output, id == thread, step.want)
		}
		said := c.toolOutput(id, "SAY: "+step.name)
		if said != step.name {
			t.Errorf("%s: reply %q", step.name, said)
		}
		requests := w.model.Requests()
		if last := requests[len(requests)-1]; step.same && !last.Contains("first") && !last.Contains("an engine") {
			t.Errorf("%s: the model did not get the history", step.name)
		}
		c.closeAndWait()
		if !step.unbound {
			thread = id
		}
		// "threads show" prints the same, and the process has released the session.
		show := exec.CommandContext(c.ctx, proxyPath, "threads", "show", "chat")
		show.Env, show.Dir = w.env, w.workspace
		shown, err := show.CombinedOutput()
		if err != nil {
			t.Fatal(err, string(shown))
		}
		reason := "unchanged"
		if fields := strings.Fields(output); len(fields) > 1 {
			reason = fields[1]
		}
		if text := string(shown); !strings.Contains(text, "("+reason+")") || !strings.Contains(text, thread) || strings.Contains(text, "held by") {
			t.Errorf("%s: threads show prints\n%s", step.name, text)
		}
	}
}

// The thread of a session is lost, in use, or without a turn.
func TestLostSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	empty, _ := c.startSession("empty", nil, nil)
	lost, _ := c.startSession("lost", nil, nil)
	c.toolOutput(lost, "SAY: x")
	loaded, output := c.startSession("lost", nil, nil)
	if loaded != lost || output != "resumed" {
		t.Errorf("in the same process: %s", output)
	}

	// A second process while the first runs.
	second := w.open(proxyArgv...).initializeWithBridge()
	failed := second.mustFail("thread/start", map[string]any{"cwd": w.workspace, "bridge": map[string]any{"sessionKey": "lost"}})
	if failed.Code != -32015 || !strings.Contains(failed.Message, fmt.Sprintf("process %d on", c.Process.Pid)) {
		t.Errorf("error of the second proxy: %v; the first is %d", failed, c.Process.Pid)
	}
	failed = second.mustFail("bridge/binding/clear", map[string]any{"sessionKey": "lost"})
	if failed.Code != -32015 {
		t.Errorf("second proxy, binding/clear: %v", failed)
	}
	if err := c.Process.Kill(); err != nil { // it can't release its sessions
		t.Fatal(err)
	}
	if _, err := c.Exit(c.ctx); err != nil {
		t.Fatal(err)
	}
	for _, file := range rollouts(t, w.home, lost) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if id, output := second.startSession("lost", nil, nil); output != "started threadLost" || id == lost {
		t.Errorf("without its rollout: %s", output)
	}
	if id, output := second.startSession("empty", nil, nil); output != "started threadLost" || id == empty {
		t.Errorf("without a turn: %s", output)
	}
	listed := second.must("bridge/binding/list", map[string]any{})
	if text := string(listed); strings.Count(text, `"reason":"threadLost"`) != 2 || !strings.Contains(text, `"threadBefore":"`+lost+`"`) {
		t.Errorf("list %s", text)
	}
	if cleared := second.must("bridge/binding/clear", map[string]any{"sessionKey": "lost"}); string(cleared) != `{"cleared":true}` {
		t.Errorf("cleared: %s", cleared)
	}
	if read := second.must("bridge/binding/read", map[string]any{"sessionKey": "lost"}); string(read) != `{"binding":null}` {
		t.Errorf("afterwards: %s", read)
	}
	if _, output := second.startSession("lost", nil, nil); output != "started notBound" {
		t.Errorf("after clear: %s", output)
	}
	second.closeAndWait()
}

// A start that the policy or Codex refuses does not change the session's thread.
func TestRefusedStartKeepsThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	thread, _ := c.startSession("chat", nil, nil)
	c.toolOutput(thread, "SAY: x")
	c.closeAndWait()

	c = w.open(proxyArgv...).initializeWithBridge()
	c.mustFail("thread/start", map[string]any{
		"cwd": w.workspace, "modelProvider": "nobody", "bridge": map[string]any{"sessionKey": "chat"},
	})
	for _, bad := range []map[string]any{
		{"sessionKey": ""}, {"sessionKey": "chat", "later": 1}, {},
		{"sessionKey": "chat", "plugins": map[string]any{"enabled": "yes"}},
	} {
		if failed := c.mustFail("thread/start", map[string]any{"cwd": w.workspace, "bridge": bad}); failed.Code != -32602 {
			t.Errorf("%v: %v", bad, failed)
		}
	}
	if id, output := c.startSession("chat", nil, nil); id != thread || output != "resumed" {
		t.Errorf("afterwards: %s", output)
	}
	c.closeAndWait()
}

// Plugins that Codex lacks have no apps, and a session with them keeps its thread, unless the file
// of its thread has grown too large.
func TestSessionPlugins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	on := map[string]any{"plugins": map[string]any{"enabled": true, "plugins": []any{
		map[string]any{"configKey": "mail", "marketplaceName": "openai-curated", "pluginName": "mail", "enabled": true},
	}}}
	for _, step := range []struct {
		bridge map[string]any
		want   string
	}{{on, "started notBound"}, {on, "resumed"}, {nil, "started pluginsOff"}, {on, "started pluginsUnknown"}} {
		c := w.open(proxyArgv...).initializeWithBridge()
		id, output := c.startSession("chat", nil, step.bridge)
		if output != step.want {
			t.Errorf("%s, want %s", output, step.want)
		}
		c.toolOutput(id, "SAY: x")
		c.closeAndWait()
	}
	w.write("config.toml", sessionPolicy+unhurriedCodex+"[thread]\nmax_rollout = \"1KiB\"\n")
	c := w.open(proxyArgv...).initializeWithBridge()
	if _, output := c.startSession("chat", nil, on); output != "started rolloutTooLarge" {
		t.Errorf("with a limit of 1 KiB: %s", output)
	}
	c.closeAndWait()
}

// The model gets the trigger of a scheduled turn, and a later turn of a user has none.
func TestModelKnowsTrigger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	thread, _ := c.startSession("chat", map[string]any{"config": map[string]any{"model_reasoning_effort": "high"}}, nil)
	last := func(name string, bridge any) string {
		t.Helper()
		p := input(thread, "SAY: "+name)
		if bridge != nil {
			p["bridge"] = bridge
		}
		mark := c.Mark()
		turn := editor.Member(c.must("turn/start", p), "turn", "id")
		c.waitTurn(thread, turn, mark)
		requests := w.model.Requests()
		return string(requests[len(requests)-1].Body)
	}
	for _, step := range []struct {
		name    string
		trigger string
		says    int // number of texts about a schedule to the model
	}{{"one", "", 0}, {"two", "cron", 1}, {"three", "cron", 1}, {"four", "", 1}, {"five", "heartbeat", 1}} {
		var bridge any
		if step.trigger != "" {
			bridge = map[string]any{"trigger": step.trigger}
		}
		body := last(step.name, bridge)
		if n := strings.Count(body, "A schedule started this turn"); n != step.says {
			t.Errorf("%s: %d texts about a schedule, want %d", step.name, n, step.says)
		}
		if !strings.Contains(body, `"effort":"high"`) {
			t.Errorf("%s: the thread lost its effort: %s", step.name, body)
		}
	}
	// Codex restores the mode with the thread.
	c.closeAndWait()
	c = w.open(proxyArgv...).initializeWithBridge()
	if again, output := c.startSession("chat", nil, nil); again != thread {
		t.Errorf("after a turn by a timer: %s", output)
	}
	six, seven := last("six", nil), last("seven", nil)
	const mode = "<collaboration_mode>"
	if strings.LastIndex(six, mode) < strings.LastIndex(six, "A timer started this turn") {
		t.Errorf("a user's turn after the restart has the trigger of a timer: %s", six)
	}
	if strings.Count(six, mode) != strings.Count(seven, mode) {
		t.Errorf("the model got the same mode again: %s", seven)
	}
	if failed := c.mustFail("turn/start", map[string]any{"threadId": thread, "input": []any{}, "bridge": map[string]any{"trigger": "moon"}}); failed.Code != -32602 {
		t.Error(failed)
	}
	c.closeAndWait()
}

// The configuration of new threads also applies to clients that do not know the bridge.
func TestConfiguredThreads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: `
[thread]
developer_instructions = "Speak of the house."
[thread.config]
model_reasoning_effort = "low"
`})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"developerInstructions": "Be brief.", "bridge": map[string]any{"sessionKey": "chat"}})
	c.toolOutput(thread, "SAY: x")
	requests := w.model.Requests()
	body := string(requests[len(requests)-1].Body)
	if !strings.Contains(body, `Speak of the house.\n\nBe brief.`) || !strings.Contains(body, `"effort":"low"`) {
		t.Errorf("request to the model: %s", body)
	}
	c.closeAndWait()
	if files, err := filepath.Glob(filepath.Join(w.root, "state", "*")); len(files) != 0 || err != nil {
		t.Errorf("a client without sessions created %v, %v", files, err)
	}
}

// rollouts returns the files of a thread in Codex's home.
func rollouts(t *testing.T, home, thread string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(home, "sessions", "*", "*", "*", "rollout-*"+thread+"*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}
