package follow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"codex-bridge.example/rpc"
)

// jsonForm prints events as lines of JSON.
type jsonForm struct {
	out     io.Writer
	err     io.Writer
	ids     map[string]string // the ids of the started items in the events, by those of Codex
	n       int
	plan    string // the id of the list of tasks; "" for none
	tasks   raw
	usage   rpc.Value // of the thread, when it was last reported
	started bool
}

// raw is JSON.
type raw []byte

// sandboxHint is the start of a warning that exec prints as text only.
const sandboxHint = "Codex could not find bubblewrap on PATH"

func (f *jsonForm) opened(t ExecThread) { f.event("thread.started", "thread_id", t.ID) }

func (f *jsonForm) end(*string) {}

func (f *jsonForm) show(method string, params rpc.Value) {
	switch text, ok := warningOf(method, params); {
	case ok && isOwnNotice(text):
		fmt.Fprintf(f.err, "warning: %s\n", StripControls(text))
		return
	case ok && !strings.HasPrefix(text, sandboxHint):
		f.problem(text)
		return
	}
	switch method {
	case "turn/started":
		if !f.started { // a review has two
			f.event("turn.started")
		}
		f.started = true
	case "error":
		f.event("error", "message", errorOf(params.Get("error")))
	case "model/rerouted":
		f.problem(fmt.Sprintf("model rerouted: %s -> %s (%s)", textOf(params, "fromModel"), textOf(params, "toModel"), capitalize(textOf(params, "reason"))))
	case "item/started":
		f.item("item.started", params.Get("item"))
	case "item/completed":
		f.item("item.completed", params.Get("item"))
	case "turn/plan/updated":
		f.planned(params.Get("plan"))
	case "thread/tokenUsage/updated":
		f.usage = params.Get("tokenUsage").Get("total")
	case "turn/completed":
		f.completed(params.Get("turn"))
	}
}

func (f *jsonForm) problem(text string) {
	f.event("item.completed", "item", object("id", f.newID(), "type", "error", "message", text))
}

func (f *jsonForm) planned(plan rpc.Value) {
	kind := "item.updated"
	if f.plan == "" {
		kind, f.plan = "item.started", f.newID()
	}
	var tasks [][]byte
	for step := range plan.Elements() {
		tasks = append(tasks, object("text", step.Get("step"), "completed", truth(step.Get("status").Is("completed"))))
	}
	f.tasks = array(tasks)
	f.taskList(kind)
}

func (f *jsonForm) taskList(kind string) {
	f.event(kind, "item", object("id", f.plan, "type", "todo_list", "items", f.tasks))
}

func (f *jsonForm) completed(turn rpc.Value) {
	if f.plan != "" {
		f.taskList("item.completed")
	}
	for item := range turn.Get("items").Elements() {
		if f.ids[textOf(item, "id")] != "" { // its end was not reported
			f.item("item.completed", item)
		}
	}
	switch failure := turn.Get("error"); {
	case turn.Get("status").Is("completed"):
		usage := []any{}
		for _, name := range []string{"inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningOutputTokens"} {
			value := raw("0")
			if v := f.usage.Get(name); v.Exists() {
				value = v.Raw()
			}
			usage = append(usage, snake(name), value)
		}
		f.event("turn.completed", "usage", object(usage...))
	case turn.Get("status").Is("failed"):
		message := "turn failed"
		if failure.Get("message").Exists() {
			message = errorOf(failure)
		}
		f.event("turn.failed", "error", object("message", message))
	}
}

// item prints an event about an item, unless exec prints none.
func (f *jsonForm) item(event string, item rpc.Value) {
	id, kind := textOf(item, "id"), textOf(item, "type")
	whole := kind == "agentMessage" || kind == "reasoning" // reported at its end only
	details := itemDetails(kind, item)
	if details == nil || whole && event == "item.started" {
		return
	}
	own := f.ids[id]
	if own == "" {
		own = f.newID()
	}
	f.ids[id] = own
	if event == "item.completed" {
		delete(f.ids, id)
	}
	f.event(event, "item", object(slices.Concat([]any{"id", own}, details)...))
}

// itemDetails returns the members of an item after its id; nil for an item that exec does not print.
func itemDetails(kind string, item rpc.Value) []any {
	get := item.Get
	switch kind {
	case "agentMessage":
		return []any{"type", "agent_message", "text", get("text")}
	case "reasoning":
		if text := join(get("summary")); strings.TrimSpace(text) != "" {
			return []any{"type", "reasoning", "text", text}
		}
	case "commandExecution":
		return []any{
			"type", "command_execution", "command", get("command"), "aggregated_output", textOf(item, "aggregatedOutput"),
			"exit_code", get("exitCode"), "status", snake(textOf(item, "status")),
		}
	case "fileChange":
		var changes [][]byte
		for change := range get("changes").Elements() {
			changes = append(changes, object("path", change.Get("path"), "kind", change.Get("kind").Get("type")))
		}
		return []any{"type", "file_change", "changes", array(changes), "status", strings.Replace(snake(textOf(item, "status")), "declined", "failed", 1)}
	case "mcpToolCall":
		result, failure := raw("null"), raw("null")
		if r := get("result"); r.Kind() == rpc.Object {
			result = object("content", r.Get("content"), "structured_content", r.Get("structuredContent"))
		}
		if e := get("error"); e.Kind() == rpc.Object {
			failure = object("message", e.Get("message"))
		}
		return []any{
			"type", "mcp_tool_call", "server", get("server"), "tool", get("tool"), "arguments", get("arguments"),
			"result", result, "error", failure, "status", snake(textOf(item, "status")),
		}
	case "collabAgentToolCall":
		var agents []any
		for name, state := range get("agentsStates").Members() {
			agents = append(agents, name, object("status", snake(textOf(state, "status")), "message", state.Get("message")))
		}
		return []any{
			"type", "collab_tool_call", "tool", strings.Replace(snake(textOf(item, "tool")), "resume_agent", "wait", 1),
			"sender_thread_id", get("senderThreadId"), "receiver_thread_ids", get("receiverThreadIds"), "prompt", get("prompt"),
			"agents_states", object(agents...), "status", snake(textOf(item, "status")),
		}
	case "webSearch":
		action := []any{"type", "other"}
		if given := get("action"); given.Kind() == rpc.Object {
			action = []any{"type", snake(textOf(given, "type"))}
			for name, value := range given.Members() {
				if name != "type" && value.Kind() != rpc.Null {
					action = append(action, name, value)
				}
			}
		}
		return []any{"type", "web_search", "id", get("id"), "query", get("query"), "action", object(action...)} // a second id (measured)
	}
	return nil
}

func (f *jsonForm) newID() string {
	f.n++
	return "item_" + strconv.Itoa(f.n-1)
}

func (f *jsonForm) event(kind string, members ...any) {
	fmt.Fprintf(f.out, "%s\n", object(slices.Concat([]any{"type", kind}, members)...))
}

// object returns a JSON object with these names and values in order. A value is a text, raw, or an
// rpc.Value, null if it does not exist.
func object(members ...any) raw {
	b := bytes.NewBufferString("{")
	for i := 0; i < len(members); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(b, members[i].(string))
		b.WriteByte(':')
		switch v := members[i+1].(type) {
		case string:
			writeText(b, v)
		case raw:
			b.Write(v)
		case rpc.Value:
			if v.Exists() {
				b.Write(v.Raw())
			} else {
				b.WriteString("null")
			}
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

func writeText(b *bytes.Buffer, text string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)      // a text has no error
	b.Truncate(b.Len() - 1) // the line feed
}

func array(elements [][]byte) raw {
	return slices.Concat(raw("["), bytes.Join(elements, []byte(",")), raw("]"))
}

func truth(b bool) raw { return strconv.AppendBool(nil, b) }

// snake returns a name of the app-server, camelCase, as exec writes it.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func capitalize(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// join returns the texts of an array on lines of their own.
func join(texts rpc.Value) string {
	var all []string
	for v := range texts.Elements() {
		text, _ := v.Text()
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}
