package trace

import (
	"fmt"
	"strconv"
	"strings"

	"codex-bridge.example/bridge/display"
)

// Show describes an event for people: the head of a line, and the text after it, which may have several lines.
// Events of a subagent are indented, and have the end of its id. Unless all is set, Show omits deltas and
// acknowledgements: their head is empty.
func Show(e TreeEvent, all bool) (head, text string, err error) {
	s, err := Decode(e.Event)
	if err != nil {
		return "", "", err
	}
	text = Summary(s)
	if text == "" {
		if !all {
			return "", "", nil
		}
		text = strings.TrimSpace(s.Method + " " + s.ID)
	}
	if s.From != "" && (all || s.From == "bridge" || s.To == "bridge") {
		text = s.From + "→" + s.To + " " + text
	}
	prefix := strings.Repeat("    ", e.Depth)
	if e.Depth > 0 {
		prefix += display.Line(e.Agent()) + " "
	}
	head = fmt.Sprintf("%s %s%-18s ", e.Time.Local().Format("15:04:05.000"), prefix, display.Line(string(e.Type)))
	return head, display.Lines(text), nil
}

// Agent returns the name of a subagent: "agent" and the end of the id of its thread.
func (e Event) Agent() string { return "agent " + e.ThreadID[max(0, len(e.ThreadID)-4):] }

// Summary describes an event in words. It returns "" for deltas and acknowledgements.
func Summary(s DecodedEvent) string {
	switch s.Type {
	case Decided:
		return strings.TrimSpace(fmt.Sprintf("%v %v %v: %v", scalar(s.Fields, "verdict"), scalar(s.Fields, "method"), scalar(s.Fields, "rule"), scalar(s.Fields, "reason")))
	case CallPassed:
		return ""
	case Dropped:
		return fmt.Sprintf("%v events were not written: messages came too fast", scalar(s.Fields, "events"))
	case Damaged:
		return "a line is truncated; the program was killed there"
	case FileFull:
		return "the file has its maximum size; later events are omitted"
	case SessionStarted:
		return fmt.Sprintf("thread %s, %s, in %s", s.ThreadID, s.Model, s.Workspace)
	case SessionEnded:
		return "the conversation ended"
	case ClientClosed:
		return "the conversation ended during a turn"
	case ToolTimeout:
		return fmt.Sprintf("%v had no result within %v ms", scalar(s.Fields, "tool"), scalar(s.Fields, "timeoutMs"))
	case PromptSubmitted:
		return "» " + inputText(s.Params["input"])
	case HookStarted, HookCompleted:
		run := object(s.Params, "run")
		return strings.TrimSpace(scalar(run, "eventName") + " " + scalar(run, "status") + " " + duration(run) + " " + joinEntries(run))
	case ApprovalRequested:
		return strings.TrimSpace(s.Method + " " + scalar(s.Params, "command") + " " + scalar(s.Params, "reason"))
	case ApprovalResolved:
		if s.Fields != nil {
			return "unanswered: " + scalar(s.Fields, "reason")
		}
		return s.Outcome
	case ToolCall:
		return summarizeItem(object(s.Params, "item"))
	case ToolResult:
		if s.Fields != nil {
			return scalar(s.Fields, "kind") + " unfinished: " + scalar(s.Fields, "reason")
		}
		return summarizeItem(object(s.Params, "item")) + " " + s.Outcome
	case ModelCompleted:
		return "turn " + s.Outcome + " " + scalar(object(object(s.Params, "turn"), "error"), "message")
	}
	return summarizeMessage(s)
}

func summarizeMessage(s DecodedEvent) string {
	if s.Error != nil {
		return fmt.Sprintf("error: %v", s.Error["message"])
	}
	switch s.Method {
	case "item/completed":
		i := object(s.Params, "item")
		switch scalar(i, "type") {
		case "agentMessage", "plan":
			return scalar(i, "text")
		case "reasoning":
			return "(" + strings.TrimSpace(joinTexts(i["summary"])+" "+joinTexts(i["content"])) + ")"
		}
	case "thread/compacted":
		return "the thread was compacted"
	case "error":
		return scalar(object(s.Params, "error"), "message")
	}
	if s.To == "bridge" || s.From == "bridge" {
		return s.Method
	}
	if s.From == "client" && s.Method != "" {
		return s.Method
	}
	return ""
}

// summarizeItem describes a tool call.
func summarizeItem(i map[string]any) string {
	text := scalar(i, "type")
	for _, name := range []string{"command", "server", "namespace", "tool", "query"} {
		if w := scalar(i, name); w != "" {
			text += " " + w
		}
	}
	changes, _ := i["changes"].([]any)
	for _, c := range changes {
		change, _ := c.(map[string]any)
		text += " " + scalar(change, "path")
	}
	return text
}

func object(v map[string]any, name string) map[string]any {
	m, _ := v[name].(map[string]any)
	return m
}

func scalar(v map[string]any, name string) string {
	switch x := v[name].(type) {
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return ""
}

// texts returns the texts of a list that are not empty, by the function that returns the text of an
// element.
func texts(v any, of func(any) string) (all []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if t := of(e); t != "" {
			all = append(all, t)
		}
	}
	return all
}

func textOf(v any) string {
	t, _ := v.(string)
	return t
}

func joinTexts(v any) string { return strings.Join(texts(v, textOf), "\n") }

func duration(run map[string]any) string {
	if ms := scalar(run, "durationMs"); ms != "" {
		return ms + " ms"
	}
	return ""
}

func joinEntries(run map[string]any) string {
	return strings.Join(texts(run["entries"], func(e any) string {
		m, _ := e.(map[string]any)
		return scalar(m, "text")
	}), "; ")
}

func inputText(v any) string {
	return strings.Join(texts(v, func(e any) string {
		m, _ := e.(map[string]any)
		if t := scalar(m, "text"); t != "" || scalar(m, "type") == "" {
			return t
		}
		return "[" + scalar(m, "type") + "]"
	}), "\n")
}
