//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
)

const toolCall = "item/tool/call"

// hostTools are tools of the host, by name: what /bin/sh runs. In $0 is the world's root.
var hostTools = map[string]string{
	"greet":    `read arguments; echo "good day, $arguments, from $PWD"`,
	"picture":  `echo '{"contentItems":[{"type":"inputText","text":"a dot"},{"type":"inputImage","imageUrl":"data:image/png;base64,` + dot + `"}]}'`,
	"fails":    `echo the reason >&2; exit 3`,
	"slow":     `sleep 3600`,
	"huge":     `yes 'line of much text' | head -c 3000000`,
	"closes":   `exec >&-; sleep 3600`,
	"forks":    `sleep 3600 & echo forked`,
	"strays":   `setsid sleep 3600 & echo strayed`,
	"begins":   `sleep 0.1; : > "$0/begun"; sleep 3600`, // when it is killed, it has been noted that it runs
	"counts":   `read arguments; echo "counted $arguments"`,
	"spoken":   `echo "spoken by the host"`,
	"environs": `env`,
}

const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// offering is a world with hostTools, under what else the configuration says.
func offering(t *testing.T, more string) *world {
	t.Helper()
	w := newWorld(t, options{config: "[codex]\nshutdown_grace = \"1m\"\n"})
	var b strings.Builder
	b.WriteString("[codex]\nshutdown_grace = \"1m\"\n" + more)
	for name, script := range hostTools {
		timeout := "1m"
		if name == "slow" || name == "closes" {
			timeout = "400ms"
		}
		fmt.Fprintf(&b, "\n[tools.%s]\ndescription = \"The tool %s.\"\ncommand = [\"/bin/sh\", \"-c\", %s, %q]\ntimeout = %q\n", name, name, toml(script), w.root, timeout)
		if name == "counts" {
			b.WriteString("input_schema = { type = \"object\", properties = { n = { type = \"integer\" } }, required = [\"n\"] }\n")
		}
	}
	w.write("config.toml", b.String())
	return w
}

// toml is a text as TOML writes it.
func toml(text string) string {
	raw, _ := json.Marshal(text) // a text
	return string(raw)
}

// atWork are the processes of the machine that work in the world's workspace but for
// those of the world that codex and the bridge are: those of tools have no marker.
func (w *world) atWork() []int {
	marked := map[int]bool{}
	for _, pid := range w.processes() {
		marked[pid] = true
	}
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || marked[pid] {
			continue
		}
		if dir, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd")); err == nil && strings.HasPrefix(dir, w.root) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// atRest fails the test when a tool has left something running.
func (w *world) atRest() {
	w.t.Helper()
	if w.await(func([]int) bool { return len(w.atWork()) == 0 }); len(w.atWork()) > 0 {
		w.t.Errorf("2 s later there are:%s", describe(w.atWork()))
	}
}

// calls is a whole turn with one call of a tool; it returns what the model was told.
func (c *conversation) calls(thread, tool, arguments string) string {
	c.t.Helper()
	c.say(thread, fmt.Sprintf("CALL: %s %s", tool, arguments))
	return c.world.told()
}

// unheard fails the test when the client has heard of a tool call.
func (c *conversation) unheard() {
	c.t.Helper()
	for _, m := range c.Messages() {
		if !m.Sent && m.Method == toolCall {
			c.t.Errorf("the client heard %s", m.Raw)
		}
	}
}

// What the model is told of each of the host's tools, in every case of which the turn
// goes on, the client hears nothing, and nothing is left running.
func TestHostTools(t *testing.T) {
	t.Parallel()
	w := offering(t, "")
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{}) // which would not be let offer tools
	thread := c.thread(nil)
	for _, test := range []struct{ tool, arguments, want string }{
		{"greet", `{"name":"x"}`, `good day, {"name":"x"}, from ` + w.workspace},
		{"greet", `[1]`, `good day, {}, from`},
		{"picture", `{}`, "a dot"},
		{"fails", `{}`, "the reason"},
		{"slow", `{}`, "within its timeout of 400ms"},
		{"slow", `{"timeoutMs":100}`, "within its timeout of 100ms"},
		{"huge", `{}`, "line of much text"},
		{"closes", `{}`, "within its timeout of 400ms"},
		{"forks", `{}`, "forked"},
		{"strays", `{}`, "strayed"},
		{"counts", `{"n":"one"}`, "do not match its schema"},
		{"counts", `{"n":1}`, `counted {"n":1}`},
	} {
		if told := c.calls(thread, test.tool, test.arguments); !strings.Contains(told, test.want) || len(told) > 17_000 {
			t.Errorf("%s %s: the model was told %.500s", test.tool, test.arguments, told)
		}
		w.atRest()
	}
	if told := c.calls(thread, "environs", "{}"); strings.Contains(told, "CODEX_BRIDGE_STATE") || !strings.Contains(told, "PATH=") {
		t.Errorf("a tool's environment is %s", told)
	}
	if last := w.model.Requests(); !strings.Contains(string(last[len(last)-1].Body), "data:image/png;base64,"+dot) {
		t.Error("the model did not get the image")
	}
	c.unheard()
	for _, m := range c.Messages() {
		if !m.Sent && m.Method == "thread/readState/changed" {
			t.Errorf("the client heard what it had not asked for: %s", m.Raw)
		}
	}
	c.quit()
	w.atRest()
}

// A turn that is interrupted ends its tool; a bridge that is killed, too.
func TestHostToolsInterrupted(t *testing.T) {
	t.Parallel()
	w := offering(t, "")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(nil)
	begun := func() {
		t.Helper()
		for ; !w.left("begun"); time.Sleep(10 * time.Millisecond) {
			if c.ctx.Err() != nil {
				t.Fatal("the tool does not begin")
			}
		}
		if err := os.Remove(filepath.Join(w.root, "begun")); err != nil {
			t.Fatal(err)
		}
	}
	turn, mark := c.begin(thread, "CALL: begins {}")
	begun()
	c.must("turn/interrupt", map[string]any{"threadId": thread, "turnId": turn})
	if status := c.end(thread, turn, mark); status != "interrupted" {
		t.Errorf("the turn ended as %q", status)
	}
	w.atRest()
	if told := c.calls(thread, "spoken", "{}"); !strings.Contains(told, "spoken by the host") {
		t.Errorf("after an interrupt the model is told %s", told)
	}
	c.begin(thread, "CALL: begins {}")
	begun()
	c.unheard()
	c.CloseInput() // in mid-call
	if _, err := c.Exit(c.ctx); err != nil {
		t.Fatal(err)
	}
	w.atRest()

	c = w.open(proxyArgv...)
	c.initialize(nil)
	c.begin(c.thread(nil), "CALL: begins {}")
	begun()
	if err := syscall.Kill(c.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.atRest()
}

// Many calls at once are all answered.
func TestHostToolsAtOnce(t *testing.T) {
	t.Parallel()
	w := offering(t, "")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(nil)
	var orders []string
	for n := range 50 {
		orders = append(orders, fmt.Sprintf(`CALL: counts {"n":%d}`, n))
	}
	c.say(thread, strings.Join(orders, "\n"))
	requests := w.model.Requests()
	outputs := strings.Join(requests[len(requests)-1].ToolOutputs(), "\n")
	for n := range 50 {
		if !strings.Contains(outputs, fmt.Sprintf(`counted {"n":%d}`, n)) {
			t.Errorf("call %d was told nothing", n)
		}
	}
	c.unheard()
	c.quit()
	w.atRest()
}

var own = []any{map[string]any{
	"type": "function", "name": "of_the_client", "description": "A tool of the client's.",
	"inputSchema": map[string]any{"type": "object", "properties": map[string]any{}},
}}

// spoken is the client's answer to a call.
func spoken(text string) map[string]any {
	return map[string]any{"contentItems": []any{map[string]any{"type": "inputText", "text": text}}, "success": true}
}

// A client's own tools stay the client's, those it registers are offered and its own,
// and one with the name of a tool of the host's is refused.
func TestHostToolsBesideTheClients(t *testing.T) {
	t.Parallel()
	w := offering(t, "")
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1, "tools": true}})
	registered := func(tool string) []any {
		return []any{map[string]any{"name": tool, "description": "Registered.", "inputSchema": map[string]any{"type": "object"}}}
	}
	before := editor.Member(c.must("bridge/tool/list", map[string]any{}), "fingerprint")
	if print := editor.Member(c.must("bridge/tool/register", map[string]any{"tools": registered("brought")}), "fingerprint"); print == before || print == "" {
		t.Errorf("the fingerprint is %q, and was %q", print, before)
	}
	for _, params := range []map[string]any{
		{"tools": registered("greet")}, {"tools": registered("brought")}, {"tools": registered("apply_patch")}, {"tools": []any{}}, {"tools": []any{1}}, {},
	} {
		if err := c.refused("bridge/tool/register", params); err.Code != -32602 {
			t.Errorf("%v: %v", params, err)
		}
	}
	clash := c.refused("thread/start", map[string]any{"cwd": w.workspace, "dynamicTools": registered("greet")})
	if clash.Code != -32602 || !strings.Contains(clash.Message, `"greet"`) || !strings.Contains(clash.Message, "tools.greet") {
		t.Errorf("a tool of the same name: %v", clash)
	}
	thread := c.thread(map[string]any{"dynamicTools": own})
	for tool, by := range map[string]string{"of_the_client": "the client", "brought": "the client", "spoken": "the host"} {
		turn, mark := c.begin(thread, "CALL: "+tool+" {}")
		if by == "the client" {
			m := c.waitFor(mark, toolCall, nil)
			if m.Param("tool") != tool {
				t.Errorf("the client was asked %s", m.Raw)
			}
			if err := c.Reply(m, spoken("spoken by the client")); err != nil {
				t.Fatal(err)
			}
		}
		if status := c.end(thread, turn, mark); status != "completed" || !strings.Contains(w.told(), "spoken by "+by) {
			t.Errorf("%s: the turn ended as %q, and the model was told %s", tool, status, w.told())
		}
	}
	if print := editor.Member(c.must("bridge/tool/unregister", map[string]any{"tools": []string{"brought"}}), "fingerprint"); print != before {
		t.Errorf("the fingerprint is %q, and was %q before", print, before)
	}
	if err := c.refused("bridge/tool/unregister", map[string]any{"tools": []string{"brought"}}); !strings.Contains(err.Message, "brought") {
		t.Error(err)
	}
	status := string(c.must("bridge/status", map[string]any{}))
	if !strings.Contains(status, `"host":["begins",`) || !strings.Contains(status, `"running":0`) {
		t.Errorf("bridge/status says %s", status)
	}
	c.quit()
	w.atRest()
}

// A thread that is resumed keeps its tools, those that are gone are answered, and a
// change is told.
func TestHostToolsResumed(t *testing.T) {
	t.Parallel()
	w := offering(t, "")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(nil)
	if told := c.calls(thread, "spoken", "{}"); !strings.Contains(told, "spoken by the host") {
		t.Fatal(told)
	}
	c.quit()

	text, err := os.ReadFile(filepath.Join(w.root, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	without := strings.Replace(string(text), "[tools.spoken]", "[tools.unspoken]", 1)
	w.write("config.toml", without)
	c = w.open(proxyArgv...)
	c.initialize(nil)
	c.resume(thread, map[string]any{})
	if told := c.calls(thread, "spoken", "{}"); !strings.Contains(told, `no tool \"spoken\"`) && !strings.Contains(told, `no tool "spoken"`) {
		t.Errorf("of a tool that is gone the model is told %s", told)
	}
	if told := c.calls(thread, "greet", "{}"); !strings.Contains(told, "from "+w.workspace) {
		t.Errorf("after the resume the model is told %s", told)
	}
	mark := c.Mark()
	w.write("config.toml", string(text))
	m := c.waitFor(mark, "configWarning", nil)
	if !strings.Contains(m.Param("details"), "The open threads (1) keep") {
		t.Errorf("the change is told as %s", m.Raw)
	}
	if told := c.calls(thread, "spoken", "{}"); !strings.Contains(told, "spoken by the host") {
		t.Errorf("of a tool that has come back the model is told %s", told)
	}
	c.unheard()
	c.quit()
}

// The policy's rules and the handlers of hooks judge the host's tools, once each.
func TestHostToolsJudged(t *testing.T) {
	t.Parallel()
	w := offering(t, small())
	text, err := os.ReadFile(filepath.Join(w.root, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	rules := hooksPolicy + "[[policy.rule]]\ntool = \"spoken\"\ndecision = \"deny\"\nreason = \"Nothing is said here.\"\n"
	rules += w.handler("pre_tool_use", "30s", fmt.Sprintf("cat >> %q; echo >> %q", w.root+"/asked", w.root+"/asked"))
	w.write("config.toml", rules+string(text))
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(writing)
	if told := c.calls(thread, "spoken", "{}"); !strings.Contains(told, "Nothing is said here") {
		t.Errorf("the model was told %s", told)
	}
	if told := c.calls(thread, "greet", `{"a":1}`); !strings.Contains(told, `good day, {"a":1}`) {
		t.Errorf("the model was told %s", told)
	}
	if told := c.calls(thread, "small/touch", `{"path":"`+w.root+`/touched"}`); !strings.Contains(told, "touched") {
		t.Errorf("the model was told %s", told)
	}
	asked, err := os.ReadFile(filepath.Join(w.root, "asked"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(asked), `"tool_name":"greet"`); n != 1 {
		t.Errorf("the handler was asked %d times: %s", n, asked)
	}
	if n := strings.Count(string(asked), `"tool_name":"smalltouch"`); n != 1 {
		t.Errorf("the handler was asked %d times: %s", n, asked)
	}
	c.unheard()
	c.quit()
}

// Where the bridge's hooks could not be installed, and nothing forbids the thread, the
// handlers are asked all the same.
func TestHostToolsJudgedWithoutHooks(t *testing.T) {
	t.Parallel()
	w := offering(t, "")
	text, err := os.ReadFile(filepath.Join(w.root, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("config.toml", string(text)+"\n[hooks]\n"+w.handler("pre_tool_use", "30s",
		`case "$(cat)" in *spoken*) echo not this one >&2; exit 2;; *counts*) echo '{"input":{"n":7}}';; esac`)+
		"\n[tool_limits]\nloops = true\n")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"config": map[string]any{"hooks.Stop": []any{}}})
	c.waitFor(0, "configWarning", func(m editor.Message) bool { return strings.Contains(m.Param("summary"), "not active") })
	if told := c.calls(thread, "spoken", "{}"); !strings.Contains(told, "not this one") {
		t.Errorf("the model was told %s", told)
	}
	if told := c.calls(thread, "counts", `{"n":"one"}`); !strings.Contains(told, `counted {"n":7}`) {
		t.Errorf("the model was told %s", told)
	}
	for range 22 { // one after the other
		w.model.Add(scripted.Step{When: "good day", Reply: scripted.Reply{scripted.Call{Tool: "greet"}}})
	}
	c.say(thread, "CALL: greet {}")
	requests := w.model.Requests()
	outputs := strings.Join(requests[len(requests)-1].ToolOutputs(), "\n")
	if n := strings.Count(outputs, "good day"); n != 20 || !strings.Contains(outputs, "Refused: the same call has been made") {
		t.Errorf("of 23 equal calls %d were run, and the model was told %s", n, outputs)
	}
	c.unheard()
	c.quit()
}

// small is an MCP server of the test's own.
func small() string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("\n[tool_servers.small]\ncommand = [\"/usr/bin/env\", \"%s=1\", %q]\n", mcpEnv, self)
}

// everything is a real one.
func everything() string {
	return fmt.Sprintf("\n[tool_servers.everything]\ncommand = [\"node\", %q, \"stdio\"]\n",
		filepath.Join(modules, "@modelcontextprotocol", "server-everything", "dist", "index.js"))
}

// The tools of servers, one of which dies in the middle of a call, and comes back.
func TestHostToolServers(t *testing.T) {
	t.Parallel()
	w := offering(t, small()+everything())
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"bridge": map[string]any{"version": 1}})
	for !strings.Contains(string(c.must("bridge/tool/list", map[string]any{})), `"get-sum"`) { // node takes its time
		time.Sleep(20 * time.Millisecond)
	}
	thread := c.thread(nil)
	for _, test := range []struct{ tool, arguments, want string }{
		{"everything/echo", `{"message":"hello"}`, "Echo: hello"},
		{"everything/get-sum", `{"a":2,"b":40}`, "42"},
		{"everything/get-sum", `{"a":"x"}`, "do not match its schema"},
		{"small/touch", `{"path":"` + w.root + `/touched"}`, ""},
		{"small/die", `{}`, "it has ended"},
		{"small/touch", `{"path":"` + w.root + `/again"}`, ""},
	} {
		if told := c.calls(thread, test.tool, test.arguments); !strings.Contains(told, test.want) {
			t.Errorf("%s %s: the model was told %s", test.tool, test.arguments, told)
		}
	}
	if !w.left("touched") || !w.left("again") {
		t.Error("the server's tool was not run")
	}
	told := c.calls(thread, "everything/get-tiny-image", "{}")
	if last := w.model.Requests(); !strings.Contains(string(last[len(last)-1].Body), "data:image/png;base64,") {
		t.Errorf("the model did not get the image, but %.300s", told)
	}
	c.unheard()
	c.quit()
	w.atRest()
}
