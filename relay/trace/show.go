package trace

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Show writes an event as a person reads it: a line or a few, those of a subagent indented,
// with the end of its id. What is of no interest to one, parts of streams and
// acknowledgements, is left out unless all is wanted.
func Show(out io.Writer, e Told, all bool) error {
	s, err := Open(e.Event)
	if err != nil {
		return err
	}
	text := Summary(s)
	if text == "" {
		if !all {
			return nil
		}
		text = strings.TrimSpace(s.Method + " " + s.ID)
	}
	way := ""
	if s.From != "" && (all || s.From == "bridge" || s.To == "bridge") {
		way = " " + s.From + "→" + s.To
	}
	whose := strings.Repeat("    ", e.Depth)
	if e.Depth > 0 {
		whose += Plain(e.Agent()) + " "
	}
	more := "\n" + strings.Repeat(" ", 32+len(whose))
	_, err = fmt.Fprintf(out, "%s %s%-18s%s %s\n", e.Time.Local().Format("15:04:05.000"), whose, Plain(string(e.Type)), way, strings.ReplaceAll(Plain(text), "\n", more))
	return err
}

// Agent is what a subagent is called, whose event it is: "agent", and the end of its id.
func (e Event) Agent() string { return "agent " + e.ThreadID[max(0, len(e.ThreadID)-4):] }

// Plain is a text for a terminal: what would move the cursor, change colours or hide what
// stands beside it is shown as what it is.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

// Summary is an event in words; empty where there is nothing to tell.
func Summary(s Step) string {
	switch s.Type {
	case Decided:
		return strings.TrimSpace(fmt.Sprintf("%v %v %v: %v", note(s, "verdict"), note(s, "method"), note(s, "rule"), note(s, "reason")))
	case Dropped:
		return fmt.Sprintf("%v events were not written: they came too fast", note(s, "events"))
	case Damaged:
		return "a line was cut in writing; the program ended there"
	case Full:
		return "the file is at its limit; what follows is not here"
	case SessionStarted:
		return fmt.Sprintf("thread %s, %s, in %s", s.ThreadID, s.Model, s.Workspace)
	case SessionEnded:
		return "the conversation ended"
	case ClientClosed:
		return "the conversation ended in the middle of a turn"
	case ToolTimeout:
		return fmt.Sprintf("%v had no result within %v ms", note(s, "tool"), note(s, "timeoutMs"))
	case PromptSubmitted:
		return "» " + inputText(s.Params["input"])
	case HookStarted, HookCompleted:
		run := at(s.Params, "run")
		return strings.TrimSpace(word(run, "eventName") + " " + word(run, "status") + " " + millis(run) + " " + entries(run))
	case ApprovalAsked:
		return strings.TrimSpace(s.Method + " " + word(s.Params, "command") + " " + word(s.Params, "reason"))
	case ApprovalAnswered:
		if s.Notes != nil {
			return "unanswered: " + word(s.Notes, "reason")
		}
		return s.Outcome
	case ToolCall:
		return item(at(s.Params, "item"))
	case ToolResult:
		if s.Notes != nil {
			return word(s.Notes, "kind") + " unfinished: " + word(s.Notes, "reason")
		}
		return item(at(s.Params, "item")) + " " + s.Outcome
	case ModelCompleted:
		return "turn " + s.Outcome + " " + word(at(at(s.Params, "turn"), "error"), "message")
	}
	return said(s)
}

func said(s Step) string {
	if s.Error != nil {
		return fmt.Sprintf("error: %v", s.Error["message"])
	}
	switch s.Method {
	case "item/completed":
		i := at(s.Params, "item")
		switch word(i, "type") {
		case "agentMessage", "plan":
			return word(i, "text")
		case "reasoning":
			return "(" + strings.TrimSpace(words(i["summary"])+" "+words(i["content"])) + ")"
		}
	case "thread/compacted":
		return "the thread was summed up"
	case "error":
		return word(at(s.Params, "error"), "message")
	}
	if s.To == "bridge" || s.From == "bridge" {
		return s.Method
	}
	if s.From == "client" && s.Method != "" {
		return s.Method
	}
	return ""
}

// item is a tool's call in words.
func item(i map[string]any) string {
	text := word(i, "type")
	for _, name := range []string{"command", "server", "namespace", "tool", "query"} {
		if w := word(i, name); w != "" {
			text += " " + w
		}
	}
	changes, _ := i["changes"].([]any)
	for _, c := range changes {
		change, _ := c.(map[string]any)
		text += " " + word(change, "path")
	}
	return text
}

func note(s Step, name string) any { return word(s.Notes, name) }

func at(v map[string]any, name string) map[string]any {
	m, _ := v[name].(map[string]any)
	return m
}

func word(v map[string]any, name string) string {
	switch x := v[name].(type) {
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return ""
}

func words(v any) string {
	list, _ := v.([]any)
	var all []string
	for _, e := range list {
		if t, ok := e.(string); ok {
			all = append(all, t)
		}
	}
	return strings.Join(all, "\n")
}

func millis(run map[string]any) string {
	if ms := word(run, "durationMs"); ms != "" {
		return ms + " ms"
	}
	return ""
}

func entries(run map[string]any) string {
	list, _ := run["entries"].([]any)
	var all []string
	for _, e := range list {
		m, _ := e.(map[string]any)
		if t := word(m, "text"); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "; ")
}

func inputText(v any) string {
	list, _ := v.([]any)
	var all []string
	for _, e := range list {
		m, _ := e.(map[string]any)
		if t := word(m, "text"); t != "" {
			all = append(all, t)
		} else if t := word(m, "type"); t != "" {
			all = append(all, "["+t+"]")
		}
	}
	return strings.Join(all, "\n")
}
