//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/relay/trace"
)

// toolWorld is a conversation with host tools in the folder of a thread "th".
type toolWorld struct {
	*assembled
	folder string
	calls  int
}

// toolsIn starts a conversation with this configuration; "$FOLDER" is the folder of the thread.
func toolsIn(t *testing.T, configuration string) *toolWorld {
	t.Helper()
	folder := t.TempDir()
	w := newAssembled(t, strings.ReplaceAll(configuration, "$FOLDER", folder), func(request) (any, string) {
		return map[string]any{"thread": map[string]any{"id": "th"}, "cwd": folder, "model": "m"}, ""
	})
	w.initialize(nil)
	w.must("thread/start", map[string]any{})
	return &toolWorld{assembled: w, folder: folder}
}

type toolAnswer struct {
	ContentItems []struct{ Type, Text, ImageURL string }
	Success      bool
}

// tool sends a call of Codex to a tool NAME or NAMESPACE/TOOL.
func (w *toolWorld) tool(name string, arguments json.RawMessage) (a toolAnswer) {
	w.t.Helper()
	w.calls++
	id := fmt.Sprint("q", w.calls)
	call := map[string]any{"threadId": "th", "turnId": "tu", "callId": id, "tool": name, "arguments": arguments}
	if namespace, tool, ok := strings.Cut(name, "/"); ok {
		call["namespace"], call["tool"] = namespace, tool
	}
	reply := w.askClient(id, "item/tool/call", call)
	var envelope struct{ Result *toolAnswer }
	if err := json.Unmarshal(reply, &envelope); err != nil || envelope.Result == nil {
		w.t.Fatalf("%s: %v", reply, err)
	}
	return *envelope.Result
}

const (
	pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	// scriptTool is a tool that runs the script of the case.
	scriptTool = "[tools.%q]\ndescription = \"d\"\ncommand = [\"/bin/sh\", \"$FOLDER/script\"]\n"
)

// script returns the script of a tool with the behaviour of a vector.
func script(t *testing.T, c dynamicToolCase) string {
	t.Helper()
	what := c.ToolReturns
	prints := func(items ...string) string {
		return "cat <<'END'\n{\"contentItems\":[" + strings.Join(items, ",") + "]}\nEND\n"
	}
	words := func(s string) string { return text(t, map[string]any{"type": "inputText", "text": s}) }
	image := func(url string) string { return text(t, map[string]any{"type": "inputImage", "imageUrl": url}) }
	var name string
	if json.Unmarshal(what, &name) != nil { // an object: the output of the command besides the text x
		var members map[string]any
		if err := json.Unmarshal(what, &members); err != nil {
			t.Fatal(err)
		}
		members["contentItems"] = []any{map[string]any{"type": "inputText", "text": "x"}}
		return "cat <<'END'\n" + text(t, members) + "\nEND\n"
	}
	switch {
	case name == "bad base64":
		return prints(image("data:image/png;base64,%%%"))
	case name == "echo args":
		return "tr -d '\\n'\n"
	}
	if message, ok := strings.CutPrefix(name, "throws Error "); ok {
		return fmt.Sprintf("printf '%%s\\n' %s >&2; exit 1\n", quoted(message))
	}
	if word, ok := strings.CutPrefix(name, "text "); ok {
		return fmt.Sprintf("printf %%s %s\n", quoted(word))
	}
	var items []string
	for i, part := range strings.FieldsFunc(strings.TrimSuffix(name, " chars"), func(r rune) bool { return r == '+' || r == ',' }) {
		letter := letterOf(c, i)
		n, err := strconv.Atoi(part)
		switch {
		case part == "image":
			items = append(items, image(pixel))
		case part == "text":
			items = append(items, words(letter))
		case err == nil:
			items = append(items, words(strings.Repeat(letter, n)))
		default:
			t.Fatalf("no script for a tool that returns %q", name)
		}
	}
	return prints(items...)
}

// quoted returns a text as a word of the shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// letterOf returns the letter that a text of the case consists of: that of the response, if it
// shows it.
func letterOf(c dynamicToolCase, i int) string {
	if i < len(c.Response.ContentItems) {
		body, _, _ := strings.Cut(c.Response.ContentItems[i].Text, "\n<truncation notice")
		if n := len(body); n > 0 && body[n-1] >= 'a' && body[n-1] <= 'z' {
			return body[n-1:]
		}
	}
	return string(rune('a' + i%26))
}

type dynamicToolCase struct {
	Name string
	Call struct {
		Tool      string
		Arguments json.RawMessage
	}
	ToolReturns json.RawMessage
	HookContext struct {
		AgentID string
		Config  struct {
			Agents struct {
				Defaults agentLimits
				List     []struct {
					ID string
					agentLimits
				}
			}
		}
	}
	Response toolAnswer
}

type agentLimits struct {
	ContextLimits struct{ ToolResultMaxChars float64 }
}

// limit returns the maximum number of characters of a result; 0 is the default.
func (c dynamicToolCase) limit() int {
	agents := c.HookContext.Config.Agents
	for _, agent := range agents.List {
		if strings.EqualFold(agent.ID, c.HookContext.AgentID) {
			return int(agent.ContextLimits.ToolResultMaxChars)
		}
	}
	return int(agents.Defaults.ContextLimits.ToolResultMaxChars)
}

func TestDynamicToolsVectorsCases(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "dynamic_tools.json", "cases", func(t *testing.T, c dynamicToolCase) {
		limit, tool := c.limit(), c.Call.Tool
		if c.isUnknownTool() {
			tool = "not-" + tool
		}
		configuration := fmt.Sprintf(scriptTool, tool)
		if limit > 0 {
			configuration += fmt.Sprintf("[tool_limits]\nmax_text = %d\n", limit)
		}
		c.judge(t, toolsIn(t, configuration), limit)
	})
}

// isUnknownTool reports whether no tool has the name of the call.
func (c dynamicToolCase) isUnknownTool() bool { return string(c.ToolReturns) == "null" }

func (c dynamicToolCase) judge(t *testing.T, w *toolWorld, most int) {
	if most == 0 {
		most = config.Default().ToolLimits.MaxText
	}
	if !c.isUnknownTool() {
		if err := os.WriteFile(filepath.Join(w.folder, "script"), []byte(script(t, c)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := w.tool(c.Call.Tool, c.Call.Arguments)
	if got.Success != c.Response.Success {
		t.Errorf("success %v", got.Success)
	}
	var name string // otherwise an object with details of a failure, added by the bridge
	isName := json.Unmarshal(c.ToolReturns, &name) == nil
	if isName && len(got.ContentItems) != len(c.Response.ContentItems) || len(got.ContentItems) < len(c.Response.ContentItems) {
		t.Fatalf("%+v", got)
	}
	all, isCut := "", false
	for i, want := range c.Response.ContentItems {
		item := got.ContentItems[i]
		cut := strings.Contains(want.Text, "<truncation notice")
		all, isCut = all+item.Text, isCut || cut
		switch {
		case item.Type != want.Type:
			t.Errorf("%d is %s", i, item.Type)
		case want.Type == "inputImage":
			if item.ImageURL != want.ImageURL {
				t.Errorf("%d: %+v", i, item)
			}
		case cut: // any text, but at this place
			body, notice, _ := strings.Cut(item.Text, "\n")
			letter := letterOf(c, i)
			if !strings.Contains(want.Text, letter+letter+"\n<truncation notice") || strings.Trim(body, letter) != "" || !strings.HasSuffix(notice, "]") {
				t.Errorf("%d: %q", i, item.Text)
			}
		case c.isUnknownTool(), strings.HasPrefix(want.Text, "[codex dynamic tool] "): // the bridge's own text
			if strings.TrimSpace(item.Text) == "" {
				t.Errorf("%d: %q", i, item.Text)
			}
		case spelledChars(want.Text) > 0:
			if item.Text != strings.Repeat(letterOf(c, i), spelledChars(want.Text)) {
				t.Errorf("%d: %d characters", i, len(item.Text))
			}
		case !c.Response.Success && isName: // see DEVIATIONS.md: the error of a command has more text
			if !likeText("<text>"+want.Text, "").MatchString(" " + item.Text) {
				t.Errorf("%d: %q, want %q in it", i, item.Text, want.Text)
			}
		case !isLike(want.Text, item.Text):
			t.Errorf("%d: %q, want %q", i, item.Text, want.Text)
		}
	}
	if isCut && len(all) != most {
		t.Errorf("%d characters, want %d", len(all), most)
	}
}

// spelledChars returns the number of characters of a text that the vector gives as "<N chars> …"; 0
// if it gives the text.
func spelledChars(text string) (n int) {
	_, _ = fmt.Sscanf(text, "<%d chars>", &n)
	return n
}

// scale divides the times of the vectors and of the configuration.
const scale = 500

type toolTimeCase struct {
	Tool      string
	Arguments map[string]any
	TimeoutMs float64
}

// Each call runs until its timeout, and the trace has the duration.
func TestDynamicToolsVectorsCallTimeouts(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "dynamic_tools.json", "callTimeouts", func(t *testing.T, c toolTimeCase) { c.play(t) })
}

// play plays a tool that never responds: one with a section, which stands for the time of the other
// program's own tool (see DEVIATIONS.md), or else one of a server.
func (c toolTimeCase) play(t *testing.T) {
	limits := config.Default().ToolLimits
	configuration := fmt.Sprintf("[trace]\nenabled = true\n[tool_limits]\ntimeout = %q\nmax_timeout = %q\n", time.Duration(limits.Timeout)/scale, time.Duration(limits.MaxTimeout)/scale)
	ms, given := c.Arguments["timeoutMs"].(float64)
	name := c.Tool
	if own := time.Duration(c.TimeoutMs) * time.Millisecond; (!given || ms <= 0) && own != time.Duration(limits.Timeout) {
		configuration += fmt.Sprintf("[tools.%q]\ndescription = \"d\"\ncommand = [\"/bin/sleep\", \"60\"]\ntimeout = %q\n", c.Tool, own/scale)
	} else {
		name = "s/" + name
		server := filepath.Join(t.TempDir(), "server")
		lists := `while read -r line; do case "$line" in *tools/list*) id=$(printf %s "$line" | sed 's/.*"id":\([^,}]*\).*/\1/'); ` +
			fmt.Sprintf(`echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":%q,"description":"d","inputSchema":{"type":"object"}}]}}';; esac; done`, c.Tool) + "\n"
		if err := os.WriteFile(server, []byte(lists), 0o600); err != nil {
			t.Fatal(err)
		}
		configuration += fmt.Sprintf("[tool_servers.s]\nprotocol = \"jsonrpc\"\ncommand = [\"/bin/sh\", %q]\n", server)
	}
	if given {
		c.Arguments["timeoutMs"] = ms / scale
	}
	w := toolsIn(t, configuration)
	if got := w.tool(name, json.RawMessage(text(t, c.Arguments))); got.Success {
		t.Errorf("%+v: %+v", c, got)
	}
	var timeouts []trace.Event
	w.until(func() bool {
		timeouts = allOf(t, "th", trace.ToolTimeout)
		return len(timeouts) > 0
	})
	var data struct{ TimeoutMs float64 }
	if err := json.Unmarshal(timeouts[0].Data, &data); err != nil {
		t.Fatal(err)
	}
	if want := c.TimeoutMs / scale; len(timeouts) != 1 || data.TimeoutMs != want {
		t.Errorf("%d timeouts, the first after %v ms; want %v ms", len(timeouts), data.TimeoutMs, want)
	}
}

// allOf returns the events of a type in the trace of a thread so far.
func allOf(t *testing.T, thread string, of trace.Type) (all []trace.Event) {
	t.Helper()
	state, err := statefolder.Path()
	if err != nil {
		t.Fatal(err)
	}
	events, err := trace.ReadFile(filepath.Join(state, trace.FolderName, trace.FileName(thread)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Type == of {
			all = append(all, e)
		}
	}
	return all
}

// The bridge ends a tool at its timeout, or when its turn is interrupted.
func TestDynamicToolsVectorsWatchdog(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type watchdog struct {
		TimeoutMs      float64
		Success        bool
		ItemCount      float64
		ItemType       string
		OnTimeoutCalls float64
	}
	eachCase(t, "dynamic_tools.json", "watchdog", func(t *testing.T, c watchdog) {
		timeout := c.TimeoutMs + 500 // time for the shell to start on a loaded machine
		if c.OnTimeoutCalls == 0 {
			timeout = 60_000
		}
		w := toolsIn(t, fmt.Sprintf(scriptTool+"timeout = \"%vms\"\n", "t1", timeout))
		started := filepath.Join(w.folder, "started")
		if err := os.WriteFile(filepath.Join(w.folder, "script"), []byte("echo $$ >"+started+".new; mv "+started+".new "+started+"; exec sleep 60\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.OnTimeoutCalls == 0 { // the turn ends before the timeout
			go func() {
				for late := time.Now().Add(waitTime()); time.Now().Before(late); time.Sleep(5 * time.Millisecond) {
					if _, err := os.Stat(started); err == nil {
						break
					}
				}
				w.notify(map[string]any{"method": "turn/completed", "params": map[string]any{"threadId": "th", "turn": map[string]any{"id": "tu", "status": "interrupted", "items": []any{}}}})
			}()
		}
		got := w.tool("t1", json.RawMessage("{}"))
		if got.Success != c.Success || len(got.ContentItems) != int(c.ItemCount) || got.ContentItems[0].Type != c.ItemType || got.ContentItems[0].Text == "" {
			t.Errorf("%+v", got)
		}
		id, err := os.ReadFile(started)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(id)))
		if err != nil {
			t.Fatal(err)
		}
		w.until(func() bool { return syscall.Kill(pid, 0) != nil })
	})
}

// The client offers its own tool in the older form, like the vectors, so the host's tools have that
// form too.
func TestDynamicToolsVectorsSpecs(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type offered struct {
		Name, Description, Namespace string
		InputSchema                  map[string]any
		DeferLoading                 bool
	}
	eachCase(t, "dynamic_tools.json", "specs", func(t *testing.T, c struct{ Specs []offered }) {
		configuration := ""
		for i, s := range c.Specs {
			configuration += fmt.Sprintf("[tools.%q]\ndescription = %q\ncommand = [\"/bin/true\"]\ninput_schema = %s\n", s.Name, s.Description, inlineTOML(t, s.InputSchema))
			if s.DeferLoading {
				configuration += "loading = \"searchable\"\n"
			}
			if s.Namespace != "" { // see DEVIATIONS.md
				c.Specs[i].Namespace = "host"
			}
		}
		w := toolsIn(t, configuration)
		w.takeRequests()
		w.must("thread/start", map[string]any{"dynamicTools": []any{map[string]any{"name": "client", "description": "", "inputSchema": map[string]any{}}}})
		var got []offered
		if err := json.Unmarshal([]byte(text(t, withMethod(w.takeRequests(), "thread/start")[0].Params["dynamicTools"])), &got); err != nil {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(o offered) bool { return o.Name == "client" })
		byName := cmp.Transformer("byName", func(list []offered) map[string]offered {
			m := map[string]offered{}
			for _, o := range list {
				m[o.Name] = o
			}
			return m
		})
		if diff := cmp.Diff(c.Specs, got, byName, masked); diff != "" {
			t.Error(diff)
		}
	})
}
