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

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

const toolCall = "item/tool/call"

// hostTools are host tools by name, with their scripts for /bin/sh. $0 is the world's root.
var hostTools = map[string]string{
	"greet":    `read arguments; echo "good day, $arguments, from $PWD"`,
	"picture":  `echo '{"contentItems":[{"type":"inputText","text":"a dot"},{"type":"inputImage","imageUrl":"data:image/png;base64,` + dot + `"}]}'`,
	"fails":    `echo the reason >&2; exit 3`,
	"slow":     `sleep 3600`,
	"huge":     `yes 'line of much text' | head -c 3000000`,
	"closes":   `exec >&-; sleep 3600`,
	"forks":    `sleep 3600 & echo forked`,
	"strays":   `setsid sleep 3600 & echo strayed`,
	"begins":   `sleep 0.1; : > "$0/begun"; sleep 3600`, // records its start before it can be killed
	"counts":   `read arguments; echo "counted $arguments"`,
	"spoken":   `echo "spoken by the host"`,
	"environs": `env`,
}

const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// newToolWorld returns a world with hostTools and more configuration.
func newToolWorld(t *testing.T, more string) *world {
	t.Helper()
	w := newWorld(t, options{config: "[codex]\nshutdown_grace = \"1m\"\n"})
	var b strings.Builder
	b.WriteString("[codex]\nshutdown_grace = \"1m\"\n" + more)
	for name, script := range hostTools {
		timeout := "1m"
		if name == "slow" || name == "closes" {
			timeout = "400ms"
		}
		fmt.Fprintf(&b, "\n[tools.%s]\ndescription = \"The tool %s.\"\ncommand = [\"/bin/sh\", \"-c\", %s, %q]\ntimeout = %q\n", name, name, quoteTOML(script), w.root, timeout)
		if name == "counts" {
			b.WriteString("input_schema = { type = \"object\", properties = { n = { type = \"integer\" } }, required = [\"n\"] }\n")
		}
	}
	w.write("config.toml", b.String())
	return w
}

// quoteTOML returns a text as a TOML string.
func quoteTOML(text string) string {
	raw, _ := json.Marshal(text) // a string
	return string(raw)
}

// toolProcesses returns the processes in the world's workspace, except Codex and the bridge:
// processes of tools have no marker.
func (w *world) toolProcesses() []int {
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

// checkNoToolProcesses fails the test if a process of a tool remains.
func (w *world) checkNoToolProcesses() {
	w.t.Helper()
	if w.waitProcesses(func([]int) bool { return len(w.toolProcesses()) == 0 }); len(w.toolProcesses()) > 0 {
		w.t.Errorf("still running after 2 s:%s", describe(w.toolProcesses()))
	}
}

// callTool runs a turn with one call of a tool; it returns the output for the model.
func (c *conversation) callTool(thread, tool, arguments string) string {
	c.t.Helper()
	c.runTurn(thread, fmt.Sprintf("CALL: %s %s", tool, arguments))
	return c.world.lastToolOutput()
}

// checkNoToolCalls fails the test if the client got a tool call.
func (c *conversation) checkNoToolCalls() {
	c.t.Helper()
	for _, m := range c.Messages() {
		if !m.Sent && m.Method == toolCall {
			c.t.Errorf("the client got %s", m.Raw)
		}
	}
}

// The model's output of each host tool, if the turn continues. The client gets no message, and no
// process remains.
func TestHostTools(t *testing.T) {
	t.Parallel()
	w := newToolWorld(t, "")
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{}) // not allowed to offer tools
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
		if isPortable && test.tool == "strays" {
			continue // its process is not found after the tool's end
		}
		if told := c.callTool(thread, test.tool, test.arguments); !strings.Contains(told, test.want) || len(told) > 17_000 {
			t.Errorf("%s %s: the model got %.500s", test.tool, test.arguments, told)
		}
		w.checkNoToolProcesses()
	}
	if told := c.callTool(thread, "environs", "{}"); strings.Contains(told, "CODEX_BRIDGE_STATE") || !strings.Contains(told, "PATH=") {
		t.Errorf("a tool's environment is %s", told)
	}
	if last := w.model.Requests(); !strings.Contains(string(last[len(last)-1].Body), "data:image/png;base64,"+dot) {
		t.Error("the model did not get the image")
	}
	c.checkNoToolCalls()
	for _, m := range c.Messages() {
		if !m.Sent && m.Method == "thread/readState/changed" {
			t.Errorf("the client got an unexpected message: %s", m.Raw)
		}
	}
	c.closeAndWait()
	w.checkNoToolProcesses()
}

// An interrupt of the turn, or the end of the bridge, ends its tool.
func TestHostToolsInterrupted(t *testing.T) {
	t.Parallel()
	w := newToolWorld(t, "")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(nil)
	begun := func() {
		t.Helper()
		for ; !w.hasFile("begun"); time.Sleep(10 * time.Millisecond) {
			if c.ctx.Err() != nil {
				t.Fatal("the tool did not start")
			}
		}
		if err := os.Remove(filepath.Join(w.root, "begun")); err != nil {
			t.Fatal(err)
		}
	}
	turn, mark := c.startTurn(thread, "CALL: begins {}")
	begun()
	c.must("turn/interrupt", map[string]any{"threadId": thread, "turnId": turn})
	if status := c.waitTurn(thread, turn, mark); status != "interrupted" {
		t.Errorf("status %q", status)
	}
	w.checkNoToolProcesses()
	if told := c.callTool(thread, "spoken", "{}"); !strings.Contains(told, "spoken by the host") {
		t.Errorf("after an interrupt the model got %s", told)
	}
	c.startTurn(thread, "CALL: begins {}")
	begun()
	c.checkNoToolCalls()
	c.CloseInput() // during the call
	if _, err := c.Exit(c.ctx); err != nil {
		t.Fatal(err)
	}
	w.checkNoToolProcesses()

	c = w.open(proxyArgv...)
	c.initialize(nil)
	c.startTurn(c.thread(nil), "CALL: begins {}")
	begun()
	if err := syscall.Kill(c.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.checkNoToolProcesses()
}

// Many parallel calls all get a response.
func TestHostToolsAtOnce(t *testing.T) {
	t.Parallel()
	w := newToolWorld(t, "")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(nil)
	var orders []string
	for n := range 50 {
		orders = append(orders, fmt.Sprintf(`CALL: counts {"n":%d}`, n))
	}
	c.runTurn(thread, strings.Join(orders, "\n"))
	requests := w.model.Requests()
	outputs := strings.Join(requests[len(requests)-1].ToolOutputs(), "\n")
	for n := range 50 {
		if !strings.Contains(outputs, fmt.Sprintf(`counted {"n":%d}`, n)) {
			t.Errorf("call %d has no output", n)
		}
	}
	c.checkNoToolCalls()
	c.closeAndWait()
	w.checkNoToolProcesses()
}

var own = []any{map[string]any{
	"type": "function", "name": "of_the_client", "description": "A tool of the client's.",
	"inputSchema": map[string]any{"type": "object", "properties": map[string]any{}},
}}

// textResult returns the client's response to a call.
func textResult(text string) map[string]any {
	return map[string]any{"contentItems": []any{map[string]any{"type": "inputText", "text": text}}, "success": true}
}

// The client's own tools stay its own, registered ones too, and a client's tool with the name of a
// host tool is refused.
func TestHostToolsBesideTheClients(t *testing.T) {
	t.Parallel()
	w := newToolWorld(t, "")
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1, "tools": true}})
	registered := func(tool string) []any {
		return []any{map[string]any{"name": tool, "description": "Registered.", "inputSchema": map[string]any{"type": "object"}}}
	}
	before := editor.Member(c.must("bridge/tool/list", map[string]any{}), "fingerprint")
	if print := editor.Member(c.must("bridge/tool/register", map[string]any{"tools": registered("brought")}), "fingerprint"); print == before || print == "" {
		t.Errorf("fingerprint %q, want %q", print, before)
	}
	for _, params := range []map[string]any{
		{"tools": registered("greet")}, {"tools": registered("brought")}, {"tools": registered("apply_patch")}, {"tools": []any{}}, {"tools": []any{1}}, {},
	} {
		if err := c.mustFail("bridge/tool/register", params); err.Code != -32602 {
			t.Errorf("%v: %v", params, err)
		}
	}
	clash := c.mustFail("thread/start", map[string]any{"cwd": w.workspace, "dynamicTools": registered("greet")})
	if clash.Code != -32602 || !strings.Contains(clash.Message, `"greet"`) || !strings.Contains(clash.Message, "tools.greet") {
		t.Errorf("a tool of the same name: %v", clash)
	}
	thread := c.thread(map[string]any{"dynamicTools": own})
	for tool, by := range map[string]string{"of_the_client": "the client", "brought": "the client", "spoken": "the host"} {
		turn, mark := c.startTurn(thread, "CALL: "+tool+" {}")
		if by == "the client" {
			m := c.waitFor(mark, toolCall, nil)
			if m.Param("tool") != tool {
				t.Errorf("the client got %s", m.Raw)
			}
			if err := c.Reply(m, textResult("spoken by the client")); err != nil {
				t.Fatal(err)
			}
		}
		if status := c.waitTurn(thread, turn, mark); status != "completed" || !strings.Contains(w.lastToolOutput(), "spoken by "+by) {
			t.Errorf("%s: status %q, the model got %s", tool, status, w.lastToolOutput())
		}
	}
	if print := editor.Member(c.must("bridge/tool/unregister", map[string]any{"tools": []string{"brought"}}), "fingerprint"); print != before {
		t.Errorf("fingerprint %q, want %q", print, before)
	}
	if err := c.mustFail("bridge/tool/unregister", map[string]any{"tools": []string{"brought"}}); !strings.Contains(err.Message, "brought") {
		t.Error(err)
	}
	status := string(c.must("bridge/status", map[string]any{}))
	if !strings.Contains(status, `"host":["begins",`) || !strings.Contains(status, `"running":0`) {
		t.Errorf("bridge/status %s", status)
	}
	c.closeAndWait()
	w.checkNoToolProcesses()
}

// A resumed thread keeps its tools. Calls of removed tools get a response, and the client gets a
// notification about the change.
func TestHostToolsResumed(t *testing.T) {
	t.Parallel()
	w := newToolWorld(t, "")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(nil)
	if told := c.callTool(thread, "spoken", "{}"); !strings.Contains(told, "spoken by the host") {
		t.Fatal(told)
	}
	c.closeAndWait()

	text, err := os.ReadFile(filepath.Join(w.root, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	without := strings.Replace(string(text), "[tools.spoken]", "[tools.unspoken]", 1)
	w.write("config.toml", without)
	c = w.open(proxyArgv...)
	c.initialize(nil)
	c.resume(thread, map[string]any{})
	if told := c.callTool(thread, "spoken", "{}"); !strings.Contains(told, `no tool \"spoken\"`) && !strings.Contains(told, `no tool "spoken"`) {
		t.Errorf("output of a removed tool: %s", told)
	}
	if told := c.callTool(thread, "greet", "{}"); !strings.Contains(told, "from "+w.workspace) {
		t.Errorf("after the resume the model got %s", told)
	}
	mark := c.Mark()
	w.write("config.toml", string(text))
	m := c.waitFor(mark, "configWarning", nil)
	if !strings.Contains(m.Param("details"), "The open threads (1) keep") {
		t.Errorf("notification of the change: %s", m.Raw)
	}
	if told := c.callTool(thread, "spoken", "{}"); !strings.Contains(told, "spoken by the host") {
		t.Errorf("output of a restored tool: %s", told)
	}
	c.checkNoToolCalls()
	c.closeAndWait()
}

// The policy's rules and the hook handlers decide about host tools, once each.
func TestHostToolsJudged(t *testing.T) {
	t.Parallel()
	w := newToolWorld(t, smallServer())
	text, err := os.ReadFile(filepath.Join(w.root, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	rules := hooksPolicy + "[[policy.rule]]\ntool = \"spoken\"\ndecision = \"deny\"\nreason = \"Nothing is said here.\"\n"
	rules += w.writeHandler("pre_tool_use", "30s", fmt.Sprintf("cat >> %q; echo >> %q", w.root+"/asked", w.root+"/asked"))
	w.write("config.toml", rules+string(text))
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(writing)
	if told := c.callTool(thread, "spoken", "{}"); !strings.Contains(told, "Nothing is said here") {
		t.Errorf("the model got %s", told)
	}
	if told := c.callTool(thread, "greet", `{"a":1}`); !strings.Contains(told, `good day, {"a":1}`) {
		t.Errorf("the model got %s", told)
	}
	if told := c.callTool(thread, "small/touch", `{"path":"`+w.root+`/touched"}`); !strings.Contains(told, "touched") {
		t.Errorf("the model got %s", told)
	}
	asked, err := os.ReadFile(filepath.Join(w.root, "asked"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(asked), `"tool_name":"greet"`); n != 1 {
		t.Errorf("%d calls of the handler: %s", n, asked)
	}
	if n := strings.Count(string(asked), `"tool_name":"smalltouch"`); n != 1 {
		t.Errorf("%d calls of the handler: %s", n, asked)
	}
	c.checkNoToolCalls()
	c.closeAndWait()
}

// If the bridge's hooks could not be installed, and the policy allows the thread, the handlers
// still decide.
func TestHostToolsJudgedWithoutHooks(t *testing.T) {
	t.Parallel()
	w := newToolWorld(t, "")
	text, err := os.ReadFile(filepath.Join(w.root, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("config.toml", string(text)+"\n[hooks]\n"+w.writeHandler("pre_tool_use", "30s",
		`case "$(cat)" in *spoken*) echo not this one >&2; exit 2;; *counts*) echo '{"input":{"n":7}}';; esac`)+
		"\n[tool_limits]\nloops = true\n")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"config": map[string]any{"hooks.Stop": []any{}}})
	c.waitFor(0, "configWarning", func(m editor.Message) bool { return strings.Contains(m.Param("summary"), "not active") })
	if told := c.callTool(thread, "spoken", "{}"); !strings.Contains(told, "not this one") {
		t.Errorf("the model got %s", told)
	}
	if told := c.callTool(thread, "counts", `{"n":"one"}`); !strings.Contains(told, `counted {"n":7}`) {
		t.Errorf("the model got %s", told)
	}
	for range 22 { // one after the other
		w.model.Add(scripted.Step{When: "good day", Reply: scripted.Reply{scripted.Call{Tool: "greet"}}})
	}
	c.runTurn(thread, "CALL: greet {}")
	requests := w.model.Requests()
	outputs := strings.Join(requests[len(requests)-1].ToolOutputs(), "\n")
	if n := strings.Count(outputs, "good day"); n != 20 || !strings.Contains(outputs, "Refused: the same call has been made") {
		t.Errorf("%d of 23 equal calls ran; the model got %s", n, outputs)
	}
	c.checkNoToolCalls()
	c.closeAndWait()
}

// smallServer returns the command of this test's MCP server.
func smallServer() string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("\n[tool_servers.small]\ncommand = [\"/usr/bin/env\", \"%s=1\", %q]\n", mcpEnv, self)
}

// everythingServer returns the command of the reference MCP server.
func everythingServer() string {
	return fmt.Sprintf("\n[tool_servers.everything]\ncommand = [\"node\", %q, \"stdio\"]\n",
		filepath.Join(modules, "@modelcontextprotocol", "server-everything", "dist", "index.js"))
}

// Tools of servers; one server dies during a call and restarts.
func TestHostToolServers(t *testing.T) {
	t.Parallel()
	w := newToolWorld(t, smallServer()+everythingServer())
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"bridge": map[string]any{"version": 1}})
	for !strings.Contains(string(c.must("bridge/tool/list", map[string]any{})), `"get-sum"`) { // Node starts slowly
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
		if told := c.callTool(thread, test.tool, test.arguments); !strings.Contains(told, test.want) {
			t.Errorf("%s %s: the model got %s", test.tool, test.arguments, told)
		}
	}
	if !w.hasFile("touched") || !w.hasFile("again") {
		t.Error("the server's tool did not run")
	}
	told := c.callTool(thread, "everything/get-tiny-image", "{}")
	if last := w.model.Requests(); !strings.Contains(string(last[len(last)-1].Body), "data:image/png;base64,") {
		t.Errorf("the model did not get the image, but %.300s", told)
	}
	c.checkNoToolCalls()
	c.closeAndWait()
	w.checkNoToolProcesses()
}
