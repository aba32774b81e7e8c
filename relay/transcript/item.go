package transcript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"codex-bridge.example/bridge/store"
)

// records returns the records of a message.
func (m *Mirror) records(h message) []store.Record {
	m.lastThread = h.thread
	line, err := m.redactor.JSON(h.line)
	if err != nil {
		m.options.Log.Error("message not stored in the transcript", "error", err)
		return nil
	}
	if h.resume {
		return m.resumedRecords(h, line)
	}
	var notification struct {
		Params struct {
			ThreadID, TurnID string
			Item             item
			CompletedAtMs    int64
			Explanation      string
			Plan             []struct{ Step, Status string }
		}
	}
	if !m.decode(line, &notification) {
		return nil
	}
	p := notification.Params
	at := timeOr(p.CompletedAtMs, h.at)
	if h.method == planUpdated {
		lines := []string{p.Explanation}
		for _, step := range p.Plan {
			lines = append(lines, fmt.Sprintf("%s: %s", step.Status, step.Step))
		}
		return m.withIDs(p.ThreadID, p.TurnID, []store.Record{{Kind: store.Plan, Time: at, Text: joinLines(lines...)}})
	}
	return m.withIDs(p.ThreadID, p.TurnID, p.Item.records(at, h.method == itemCompleted))
}

// decode decodes the known members of a message. It omits a member of an unexpected type,
// because the rest is still useful.
func (m *Mirror) decode(line []byte, into any) bool {
	err := json.Unmarshal(line, into)
	var other *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &other) {
		m.options.Log.Error("message not stored in the transcript", "error", err)
		return false
	}
	return true
}

// resumedRecords returns the records in the result of thread/resume.
func (m *Mirror) resumedRecords(h message, line []byte) []store.Record {
	var answer struct {
		Result struct {
			Thread struct {
				Turns []struct {
					ID                     string
					Items                  []item
					StartedAt, CompletedAt int64
				}
			}
		}
	}
	if !m.decode(line, &answer) {
		return nil
	}
	var all []store.Record
	for _, turn := range answer.Result.Thread.Turns {
		at := h.at
		if seconds := cmp.Or(turn.CompletedAt, turn.StartedAt); seconds > 0 {
			at = time.Unix(seconds, 0)
		}
		for _, i := range turn.Items {
			records := i.records(at, true)
			if i.Type == "contextCompaction" {
				records = append(i.records(at, false), records...)
			}
			for n := range records {
				records[n].Replayed = true
			}
			all = append(all, m.withIDs(h.thread, turn.ID, records)...)
		}
	}
	return all
}

// withIDs sets the thread and turn of the records. Without both ids it returns none.
func (m *Mirror) withIDs(thread, turn string, records []store.Record) []store.Record {
	if thread == "" || turn == "" {
		return nil
	}
	for i := range records {
		records[i].Thread, records[i].Turn = thread, turn
	}
	return records
}

// item is an item of a turn: the members of all types that have text.
type item struct {
	Type, ID, Status            string
	Text                        string
	Content                     json.RawMessage // a list of parts in a userMessage, of strings in reasoning
	Summary                     []string
	Command                     string
	AggregatedOutput            string
	Changes                     []struct{ Path, Diff string }
	Server, Namespace           string
	Tool                        any // a tool's name; for subagents, an object
	Name                        string
	Arguments, Result, Error    any
	ContentItems, Output        any
	Query, Path, Prompt, Review string
	Fragments                   any
	StartedAtMs, CompletedAtMs  int64
	RevisedPrompt               any
}

// records returns the records of an item that has started or ended.
func (i item) records(at time.Time, ended bool) []store.Record {
	r := store.Record{Item: i.ID, Time: timeOr(i.CompletedAtMs, at)}
	switch i.Type {
	case "userMessage":
		r.Kind, r.Text = store.User, i.contentText()
	case "agentMessage":
		r.Kind, r.Text = store.Assistant, i.Text
	case "exitedReviewMode":
		r.Kind, r.Text = store.Assistant, i.Review
	case "plan":
		r.Kind, r.Text = store.Plan, i.Text
	case "reasoning":
		r.Kind, r.Text = store.Reasoning, joinLines(joinLines(i.Summary...), i.contentText())
	case "contextCompaction":
		r.Kind, r.Name, r.Text = store.Compaction, "end", "the thread was summed up"
		if !ended {
			r.Name, r.Text, r.Time = "start", "the thread is being summed up", timeOr(i.StartedAtMs, at)
		}
		return []store.Record{r}
	default:
		r.Kind, r.State = store.Tool, i.Status
		r.Name, r.Text = i.toolCall()
	}
	if strings.TrimSpace(r.Text) == "" {
		return nil
	}
	return []store.Record{r}
}

// toolCall returns the name of a tool, and its input and output.
func (i item) toolCall() (name, text string) {
	switch i.Type {
	case "commandExecution":
		return "shell", joinLines(i.Command, i.AggregatedOutput)
	case "fileChange":
		var all []string
		for _, change := range i.Changes {
			all = append(all, change.Path, change.Diff)
		}
		return "apply_patch", joinLines(all...)
	case "webSearch":
		return "web_search", joinLines(i.Query, jsonText(i.Result))
	case "imageView":
		return "view_image", i.Path
	case "hookPrompt":
		return "hook", jsonText(i.Fragments)
	}
	tool, _ := i.Tool.(string)
	name = cmp.Or(tool, i.Name, i.Type)
	if space := cmp.Or(i.Server, i.Namespace); space != "" {
		name = space + "/" + name
	}
	return name, joinLines(i.Prompt, jsonText(i.Arguments), jsonText(i.Result), jsonText(i.ContentItems), jsonText(i.Output), jsonText(i.Error), jsonText(i.RevisedPrompt))
}

// contentText returns the texts of a message's parts; for a part without text, its type.
func (i item) contentText() string {
	var parts []struct{ Type, Text, Path, Name string }
	if json.Unmarshal(i.Content, &parts) != nil {
		var list []string
		if json.Unmarshal(i.Content, &list) != nil {
			return ""
		}
		return joinLines(list...)
	}
	var all []string
	for _, p := range parts {
		if text := cmp.Or(p.Text, p.Path, p.Name); text != "" {
			all = append(all, text)
		} else {
			all = append(all, "("+p.Type+")")
		}
	}
	return joinLines(all...)
}

// jsonText returns the text of a JSON value: the texts in lists and in parts of results,
// and other objects as JSON.
func jsonText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, jsonText(e))
		}
		return joinLines(all...)
	case map[string]any:
		if text, ok := v["text"].(string); ok {
			return text // a part of a tool's result
		}
		if parts, ok := v["content"].([]any); ok {
			return jsonText(parts) // a tool's result
		}
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if enc.Encode(v) != nil {
			return ""
		}
		return b.String()
	}
	return fmt.Sprint(v)
}

func joinLines(all ...string) string {
	var kept []string
	for _, text := range all {
		if strings.TrimSpace(text) != "" {
			kept = append(kept, strings.TrimRight(text, "\n"))
		}
	}
	return strings.Join(kept, "\n")
}

func timeOr(ms int64, or time.Time) time.Time {
	if ms > 0 {
		return time.UnixMilli(ms)
	}
	return or
}
