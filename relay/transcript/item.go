package transcript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"codex-bridge/bridge/store"
)

// records are what a message has to keep.
func (m *Mirror) records(h heard) []store.Record {
	m.current = h.thread
	line, err := m.redactor.JSON(h.line)
	if err != nil {
		m.o.Log.Error("a message can't be kept in the transcript", "error", err) // it was read once
		return nil
	}
	if h.resume {
		return m.resumed(h, line)
	}
	var said struct {
		Params struct {
			ThreadID, TurnID string
			Item             item
			CompletedAtMs    int64
			Explanation      string
			Plan             []struct{ Step, Status string }
		}
	}
	if !m.decode(line, &said) {
		return nil
	}
	p := said.Params
	at := moment(p.CompletedAtMs, h.at)
	if h.method == planUpdated {
		lines := []string{p.Explanation}
		for _, step := range p.Plan {
			lines = append(lines, fmt.Sprintf("%s: %s", step.Status, step.Step))
		}
		return m.named(p.ThreadID, p.TurnID, []store.Record{{Kind: store.Plan, Time: at, Text: join(lines...)}})
	}
	return m.named(p.ThreadID, p.TurnID, p.Item.records(at, h.method == itemCompleted))
}

// decode reads what it knows of a message. A member of another type than is known is left
// out, and what is kept without it is better than nothing.
func (m *Mirror) decode(line []byte, into any) bool {
	err := json.Unmarshal(line, into)
	var other *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &other) {
		m.o.Log.Error("a message can't be kept in the transcript", "error", err)
		return false
	}
	return true
}

// resumed are the records of a thread that Codex tells from its file.
func (m *Mirror) resumed(h heard, line []byte) []store.Record {
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
			all = append(all, m.named(h.thread, turn.ID, records)...)
		}
	}
	return all
}

// named are records with their thread and turn; without, they are nobody's.
func (m *Mirror) named(thread, turn string, records []store.Record) []store.Record {
	if thread == "" || turn == "" {
		return nil
	}
	for i := range records {
		records[i].Thread, records[i].Turn = thread, turn
	}
	return records
}

// item is one of a turn: the members of all types that have something to say.
type item struct {
	Type, ID, Status            string
	Text                        string
	Content                     json.RawMessage // of a user's message a list of parts, of reasoning texts
	Summary                     []string
	Command                     string
	AggregatedOutput            string
	Changes                     []struct{ Path, Diff string }
	Server, Namespace           string
	Tool                        any // the name of a tool; of a subagent's one what is done
	Name                        string
	Arguments, Result, Error    any
	ContentItems, Output        any
	Query, Path, Prompt, Review string
	Fragments                   any
	StartedAtMs, CompletedAtMs  int64
	RevisedPrompt               any
}

// records are what there is to keep of an item that has ended, or begun.
func (i item) records(at time.Time, ended bool) []store.Record {
	r := store.Record{Item: i.ID, Time: moment(i.CompletedAtMs, at)}
	switch i.Type {
	case "userMessage":
		r.Kind, r.Text = store.User, i.said()
	case "agentMessage":
		r.Kind, r.Text = store.Assistant, i.Text
	case "exitedReviewMode":
		r.Kind, r.Text = store.Assistant, i.Review
	case "plan":
		r.Kind, r.Text = store.Plan, i.Text
	case "reasoning":
		r.Kind, r.Text = store.Reasoning, join(join(i.Summary...), i.said())
	case "contextCompaction":
		r.Kind, r.Name, r.Text = store.Compaction, "end", "the thread was summed up"
		if !ended {
			r.Name, r.Text, r.Time = "start", "the thread is being summed up", moment(i.StartedAtMs, at)
		}
		return []store.Record{r}
	default:
		r.Kind, r.State = store.Tool, i.Status
		r.Name, r.Text = i.called()
	}
	if strings.TrimSpace(r.Text) == "" {
		return nil
	}
	return []store.Record{r}
}

// called is the name of a tool, and what it was asked and answered.
func (i item) called() (name, text string) {
	switch i.Type {
	case "commandExecution":
		return "shell", join(i.Command, i.AggregatedOutput)
	case "fileChange":
		var all []string
		for _, change := range i.Changes {
			all = append(all, change.Path, change.Diff)
		}
		return "apply_patch", join(all...)
	case "webSearch":
		return "web_search", join(i.Query, texts(i.Result))
	case "imageView":
		return "view_image", i.Path
	case "hookPrompt":
		return "hook", texts(i.Fragments)
	}
	tool, _ := i.Tool.(string)
	name = cmp.Or(tool, i.Name, i.Type)
	if space := cmp.Or(i.Server, i.Namespace); space != "" {
		name = space + "/" + name
	}
	return name, join(i.Prompt, texts(i.Arguments), texts(i.Result), texts(i.ContentItems), texts(i.Output), texts(i.Error), texts(i.RevisedPrompt))
}

// said are the texts of the parts of a message; of a part without one its kind.
func (i item) said() string {
	var parts []struct{ Type, Text, Path, Name string }
	if json.Unmarshal(i.Content, &parts) != nil {
		var list []string
		if json.Unmarshal(i.Content, &list) != nil {
			return ""
		}
		return join(list...)
	}
	var all []string
	for _, p := range parts {
		if text := cmp.Or(p.Text, p.Path, p.Name); text != "" {
			all = append(all, text)
		} else {
			all = append(all, "("+p.Type+")")
		}
	}
	return join(all...)
}

// texts is a value of JSON in words: the texts of lists and of the parts of answers, other
// objects as they are.
func texts(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, texts(e))
		}
		return join(all...)
	case map[string]any:
		if text, ok := v["text"].(string); ok {
			return text // a part of a tool's answer
		}
		if parts, ok := v["content"].([]any); ok {
			return texts(parts) // a tool's answer
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

func join(all ...string) string {
	var kept []string
	for _, text := range all {
		if strings.TrimSpace(text) != "" {
			kept = append(kept, strings.TrimRight(text, "\n"))
		}
	}
	return strings.Join(kept, "\n")
}

func moment(ms int64, or time.Time) time.Time {
	if ms > 0 {
		return time.UnixMilli(ms)
	}
	return or
}
