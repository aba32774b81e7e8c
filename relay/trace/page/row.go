package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"codex-bridge/relay/trace"
)

// Kinds of rows, in the order of the filters.
var Kinds = []string{"prompt", "message", "reasoning", "tool", "hook", "approval", "decision", "session", "other"}

// Row is one thing that happened, with a bar from its start to its end.
type Row struct {
	Kind, Title, Text, State string // State: ok, denied, failed, open, none
	Turn                     string
	Agent                    string // whose it is, where it is a subagent's
	Start, End               time.Time
	Left, Width              float64  // percent
	Decisions                []string // what the policy, a person or a hook said of it
	JSON                     []string
	key                      string
}

// At is when it began, since the first event.
func (r *Row) at(first time.Time) string { return short(r.Start.Sub(first)) }

func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d:%04.1f", int(d.Minutes()), d.Seconds()-60*float64(int(d.Minutes())))
	}
	return d.Round(time.Second).String()
}

// Usage is what the model had used at a time.
type Usage struct {
	At                   time.Time
	Input, Output, Total float64
}

// Model is a trace as the page shows it.
type Model struct {
	Thread, Name, Workspace string
	Title                   string // the first prompt
	First, Last             time.Time
	Events                  int
	Rows                    []*Row
	Usage                   []Usage
}

// Read makes a Model of the events of a file.
func Read(events iter.Seq2[trace.Event, error]) (*Model, error) {
	b := builder{open: make(map[string]*Row)}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if e.Type == trace.Damaged {
			continue
		}
		s, err := trace.Open(e)
		if err != nil {
			return nil, err
		}
		b.add(s)
	}
	b.finish()
	return &b.Model, nil
}

type builder struct {
	Model
	open map[string]*Row
}

func (b *builder) add(s trace.Step) {
	if b.Events == 0 {
		b.First = s.Time
	}
	b.Events++
	b.Last = s.Time
	b.Thread = cmp.Or(b.Thread, s.ThreadID)
	own := s.ThreadID == b.Thread
	if s.Model != "" && own {
		b.Name, b.Workspace = s.Model, s.Workspace
	}
	if s.From == "codex" && s.Method == "thread/tokenUsage/updated" {
		if !own {
			return // the chart is the thread's
		}
		total := object(object(s.Params, "tokenUsage"), "total")
		b.Usage = append(b.Usage, Usage{s.Time, number(total, "inputTokens"), number(total, "outputTokens"), number(total, "totalTokens")})
		return
	}
	kind, key, ends := place(s)
	if kind == "" {
		return
	}
	if key != "" {
		key = s.ThreadID + " " + key
	}
	row := b.open[key]
	if row == nil || key == "" {
		row = &Row{Kind: kind, Start: s.Time, State: "open", Turn: s.TurnID, key: key}
		if !own {
			row.Agent = s.Agent()
		}
		b.Rows = append(b.Rows, row)
		if key != "" {
			b.open[key] = row
		}
	}
	if text := trace.Summary(s); text != "" {
		if row.Kind == "approval" && s.Type == trace.ApprovalAnswered {
			row.Decisions = append(row.Decisions, fmt.Sprintf("%s answered %s", cmp.Or(s.From, "nobody"), text))
		} else {
			row.Title, row.Text, _ = strings.Cut(title(s, text), "\n")
			if kind == "prompt" {
				b.Title = cmp.Or(b.Title, row.Title)
			}
		}
	}
	if row.Title == "" {
		row.Title = cmp.Or(s.Method, string(s.Type))
	}
	row.JSON = append(row.JSON, pretty(s.Data))
	row.End = s.Time
	if key == "" || ends {
		row.State = state(s)
	}
}

// title is what is shown of an event beside its kind and its state.
func title(s trace.Step, text string) string {
	switch s.Type {
	case trace.PromptSubmitted:
		return strings.TrimPrefix(text, "» ")
	case trace.ToolCall, trace.ToolResult:
		kind := word(object(s.Params, "item"), "type")
		text = strings.TrimSuffix(text, " "+s.Outcome)
		if rest, ok := strings.CutPrefix(text, kind+" "); ok && kind != "" {
			return names[kind] + rest
		}
	case trace.ApprovalAsked:
		if rest, ok := strings.CutPrefix(text, s.Method+" "); ok {
			return rest
		}
	}
	return text
}

// names are what kinds of items are called where what they do does not say it.
var names = map[string]string{"fileChange": "patch ", "mcpToolCall": "server ", "webSearch": "web ", "imageView": "image ", "collabAgentToolCall": "agents: "}

// place tells where an event is shown: rows of one key are one, which ends with ends.
func place(s trace.Step) (kind, key string, ends bool) {
	item := object(s.Params, "item")
	id := word(item, "id")
	switch s.Type {
	case trace.PromptSubmitted:
		return "prompt", "", true
	case trace.ToolCall, trace.ToolResult:
		if s.Notes != nil {
			id = word(s.Notes, "itemId")
		}
		return "tool", "item " + id, s.Type == trace.ToolResult
	case trace.ToolTimeout:
		return "tool", "", true
	case trace.HookStarted, trace.HookCompleted:
		return "hook", "hook " + word(object(s.Params, "run"), "id") + s.TurnID, s.Type == trace.HookCompleted
	case trace.ApprovalAsked, trace.ApprovalAnswered:
		id = s.ID
		if s.Notes != nil {
			id = word(s.Notes, "requestId")
		}
		return "approval", "ask " + id + s.TurnID, s.Type == trace.ApprovalAnswered
	case trace.Decided:
		return "decision", "", true
	case trace.SessionStarted, trace.SessionEnded, trace.ClientClosed, trace.ModelCompleted, trace.Dropped, trace.Full:
		return "session", "", true
	}
	if s.Method == "item/started" || s.Method == "item/completed" {
		switch word(item, "type") {
		case "agentMessage", "plan":
			kind = "message"
		case "reasoning":
			kind = "reasoning"
		default:
			return "", "", false // what the client has said itself
		}
		return kind, "item " + id, s.Method == "item/completed"
	}
	if s.Chars == 0 && trace.Summary(s) != "" {
		return "other", "", true
	}
	return "", "", false
}

func state(s trace.Step) string {
	word := s.Outcome
	if s.Notes != nil {
		word, _ = s.Notes["verdict"].(string)
		if w, ok := s.Notes["outcome"].(string); ok {
			word = w
		}
	}
	switch word {
	case "blocked", "declined", "decline", "denied", "deny", "cancel", "abort", "stopped":
		return "denied"
	case "failed", "error", "unfinished", "unanswered", "interrupted":
		return "failed"
	}
	if s.Error != nil {
		return "failed"
	}
	return "ok"
}

// finish gives every row its bar, and what was decided while it was under way.
func (b *builder) finish() {
	all := max(b.Last.Sub(b.First), time.Millisecond)
	for _, r := range b.Rows {
		if r.State == "open" {
			r.End = b.Last
		}
		r.Left = 100 * float64(r.Start.Sub(b.First)) / float64(all)
		r.Width = max(100*float64(r.End.Sub(r.Start))/float64(all), 0.3)
		r.Left = min(max(r.Left, 0), 99.7)
		r.Width = min(r.Width, 100-r.Left)
		if r.Kind == "decision" {
			b.behind(r)
		}
	}
	slices.SortStableFunc(b.Rows, func(x, y *Row) int { return x.Start.Compare(y.Start) })
}

// behind writes a decision to what it was about: what was under way then in the same turn,
// and began last.
func (b *builder) behind(decision *Row) {
	var about *Row
	for _, r := range b.Rows {
		if (r.Kind == "tool" || r.Kind == "approval" || r.Kind == "hook") && r.Turn == decision.Turn && r.Turn != "" &&
			!r.Start.After(decision.Start) && !r.End.Before(decision.Start) && (about == nil || !r.Start.Before(about.Start)) {
			about = r
		}
	}
	if about != nil {
		about.Decisions = append(about.Decisions, decision.Title)
	}
}

func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func object(v map[string]any, name string) map[string]any {
	m, _ := v[name].(map[string]any)
	return m
}

func word(v map[string]any, name string) string {
	s, _ := v[name].(string)
	return s
}

func number(v map[string]any, name string) float64 {
	n, _ := v[name].(float64)
	return n
}
