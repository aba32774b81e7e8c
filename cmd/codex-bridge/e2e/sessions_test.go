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

	"codex-bridge/cmd/internal/editor"
)

// sessionPolicy holds the threads of sessions to a policy, as it does all others.
const sessionPolicy = "[policy]\nmode = \"enforce\"\napproval = [\"on-request\"]\nsandbox = \"read-only\"\n"

// knows shakes hands as an editor that knows the bridge.
func (c *conversation) knows() *conversation {
	c.t.Helper()
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}})
	return c
}

// tool is a dynamic tool of the client's.
func tool(name, description string, properties map[string]any) map[string]any {
	return map[string]any{
		"type": "function", "name": name, "description": description,
		"inputSchema": map[string]any{"type": "object", "properties": properties},
	}
}

// session is thread/start of a session, in the words of its result: the id of the thread,
// and "action reason rotated transient".
func (c *conversation) session(key string, params, bridge map[string]any) (thread, told string) {
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
		c.t.Errorf("the session %s runs in the sandbox %q: the policy has not seen it", key, sandbox)
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

// A session keeps its thread over restarts, as long as what the thread was started with
// stays the same; and is told why when it gets another.
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
		same           bool // the thread of the step before it that was bound
		unbound        bool // the step's own thread is not bound
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
		c := w.open(proxyArgv...).knows()
		id, told := c.session("chat", step.params, step.bridge)
		if told != step.want || (id == thread) != step.same {
			t.Errorf("%s: %s, and the thread is the same: %v; want %s", step.name, told, id == thread, step.want)
		}
		said := c.told(id, "SAY: "+step.name)
		if said != step.name {
			t.Errorf("%s: the model said %q", step.name, said)
		}
		requests := w.model.Requests()
		if last := requests[len(requests)-1]; step.same && !last.Contains("first") && !last.Contains("an engine") {
			t.Errorf("%s: the model was not told what was said before", step.name)
		}
		c.quit()
		if !step.unbound {
			thread = id
		}
		// A person is shown the same, and that the process has given the session back.
		show := exec.CommandContext(c.ctx, proxyPath, "threads", "show", "chat")
		show.Env, show.Dir = w.env, w.workspace
		shown, err := show.CombinedOutput()
		if err != nil {
			t.Fatal(err, string(shown))
		}
		reason := "unchanged"
		if fields := strings.Fields(told); len(fields) > 1 {
			reason = fields[1]
		}
		if text := string(shown); !strings.Contains(text, "("+reason+")") || !strings.Contains(text, thread) || strings.Contains(text, "held by") {
			t.Errorf("%s: threads show says\n%s", step.name, text)
		}
	}
}

// What happens to the thread of a session that is lost, in use, or never kept.
func TestSessionsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).knows()
	empty, _ := c.session("empty", nil, nil)
	lost, _ := c.session("lost", nil, nil)
	c.told(lost, "SAY: x")
	loaded, told := c.session("lost", nil, nil)
	if loaded != lost || told != "resumed" {
		t.Errorf("within one process: %s", told)
	}

	// A second one, while the first runs.
	second := w.open(proxyArgv...).knows()
	failed := second.refused("thread/start", map[string]any{"cwd": w.workspace, "bridge": map[string]any{"sessionKey": "lost"}})
	if failed.Code != -32015 || !strings.Contains(failed.Message, fmt.Sprintf("process %d on", c.Process.Pid)) {
		t.Errorf("the second proxy is told %v, and the first is %d", failed, c.Process.Pid)
	}
	failed = second.refused("bridge/binding/clear", map[string]any{"sessionKey": "lost"})
	if failed.Code != -32015 {
		t.Errorf("the second proxy clears: %v", failed)
	}
	if err := c.Process.Kill(); err != nil { // it can't give its sessions back
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
	if id, told := second.session("lost", nil, nil); told != "started threadLost" || id == lost {
		t.Errorf("with its rollout gone: %s", told)
	}
	if id, told := second.session("empty", nil, nil); told != "started threadLost" || id == empty {
		t.Errorf("one that never ran a turn: %s", told)
	}
	listed := second.must("bridge/binding/list", map[string]any{})
	if text := string(listed); strings.Count(text, `"reason":"threadLost"`) != 2 || !strings.Contains(text, `"threadBefore":"`+lost+`"`) {
		t.Errorf("listed are %s", text)
	}
	if cleared := second.must("bridge/binding/clear", map[string]any{"sessionKey": "lost"}); string(cleared) != `{"cleared":true}` {
		t.Errorf("cleared: %s", cleared)
	}
	if read := second.must("bridge/binding/read", map[string]any{"sessionKey": "lost"}); string(read) != `{"binding":null}` {
		t.Errorf("after that: %s", read)
	}
	if _, told := second.session("lost", nil, nil); told != "started notBound" {
		t.Errorf("after it was cleared: %s", told)
	}
	second.quit()
}

// A start that the policy refuses, or that codex does, costs no session its thread.
func TestSessionsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).knows()
	thread, _ := c.session("chat", nil, nil)
	c.told(thread, "SAY: x")
	c.quit()

	c = w.open(proxyArgv...).knows()
	c.refused("thread/start", map[string]any{
		"cwd": w.workspace, "modelProvider": "nobody", "bridge": map[string]any{"sessionKey": "chat"},
	})
	for _, bad := range []map[string]any{
		{"sessionKey": ""}, {"sessionKey": "chat", "later": 1}, {},
		{"sessionKey": "chat", "plugins": map[string]any{"enabled": "yes"}},
	} {
		if failed := c.refused("thread/start", map[string]any{"cwd": w.workspace, "bridge": bad}); failed.Code != -32602 {
			t.Errorf("%v: %v", bad, failed)
		}
	}
	if id, told := c.session("chat", nil, nil); id != thread || told != "resumed" {
		t.Errorf("afterwards: %s", told)
	}
	c.quit()
}

// Plugins that this codex does not have bring no apps, and a session that wants them keeps
// its thread; one whose file has grown does not.
func TestSessionsPlugins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	on := map[string]any{"plugins": map[string]any{"enabled": true, "plugins": []any{
		map[string]any{"configKey": "mail", "marketplaceName": "openai-curated", "pluginName": "mail", "enabled": true},
	}}}
	for _, step := range []struct {
		bridge map[string]any
		want   string
	}{{on, "started notBound"}, {on, "resumed"}, {nil, "started pluginsOff"}, {on, "started pluginsUnknown"}} {
		c := w.open(proxyArgv...).knows()
		id, told := c.session("chat", nil, step.bridge)
		if told != step.want {
			t.Errorf("%s, want %s", told, step.want)
		}
		c.told(id, "SAY: x")
		c.quit()
	}
	w.write("config.toml", sessionPolicy+unhurriedCodex+"[thread]\nmax_rollout = \"1KiB\"\n")
	c := w.open(proxyArgv...).knows()
	if _, told := c.session("chat", nil, on); told != "started rolloutTooLarge" {
		t.Errorf("with a bound of 1 KiB: %s", told)
	}
	c.quit()
}

// A turn by a clock is told so, and the next one by a person is not.
func TestTriggers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).knows()
	thread, _ := c.session("chat", map[string]any{"config": map[string]any{"model_reasoning_effort": "high"}}, nil)
	last := func(name string, bridge any) string {
		t.Helper()
		p := input(thread, "SAY: "+name)
		if bridge != nil {
			p["bridge"] = bridge
		}
		mark := c.Mark()
		turn := editor.Member(c.must("turn/start", p), "turn", "id")
		c.end(thread, turn, mark)
		requests := w.model.Requests()
		return string(requests[len(requests)-1].Body)
	}
	for _, step := range []struct {
		name    string
		trigger string
		says    int // how often the model has been told of a schedule
	}{{"one", "", 0}, {"two", "cron", 1}, {"three", "cron", 1}, {"four", "", 1}, {"five", "heartbeat", 1}} {
		var bridge any
		if step.trigger != "" {
			bridge = map[string]any{"trigger": step.trigger}
		}
		body := last(step.name, bridge)
		if n := strings.Count(body, "A schedule started this turn"); n != step.says {
			t.Errorf("%s: the model is told of a schedule %d times, want %d", step.name, n, step.says)
		}
		if !strings.Contains(body, `"effort":"high"`) {
			t.Errorf("%s: the effort of the thread is lost: %s", step.name, body)
		}
	}
	// Codex brings the mode back with the thread.
	c.quit()
	c = w.open(proxyArgv...).knows()
	if again, told := c.session("chat", nil, nil); again != thread {
		t.Errorf("after a turn by a timer: %s", told)
	}
	six, seven := last("six", nil), last("seven", nil)
	const mode = "<collaboration_mode>"
	if strings.LastIndex(six, mode) < strings.LastIndex(six, "A timer started this turn") {
		t.Errorf("a person's turn after the restart is still a timer's: %s", six)
	}
	if strings.Count(six, mode) != strings.Count(seven, mode) {
		t.Errorf("the model is told of the same mode again: %s", seven)
	}
	if failed := c.refused("turn/start", map[string]any{"threadId": thread, "input": []any{}, "bridge": map[string]any{"trigger": "moon"}}); failed.Code != -32602 {
		t.Error(failed)
	}
	c.quit()
}

// What is configured for new threads comes into those of a client that knows nothing of
// the bridge.
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
	c.told(thread, "SAY: x")
	requests := w.model.Requests()
	body := string(requests[len(requests)-1].Body)
	if !strings.Contains(body, `Speak of the house.\n\nBe brief.`) || !strings.Contains(body, `"effort":"low"`) {
		t.Errorf("the model was asked %s", body)
	}
	c.quit()
	if files, err := filepath.Glob(filepath.Join(w.root, "state", "*")); len(files) != 0 || err != nil {
		t.Errorf("a client that knows nothing of sessions has made %v, %v", files, err)
	}
}

// rollouts are the files in which codex keeps a thread.
func rollouts(t *testing.T, home, thread string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(home, "sessions", "*", "*", "*", "rollout-*"+thread+"*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}
