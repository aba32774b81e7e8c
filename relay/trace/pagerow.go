package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// rowKinds are the kinds of rows, in the order of the filters.
var rowKinds = []string{"prompt", "message", "reasoning", "tool", "hook", "approval", "decision", "session", "other"}

// Row is one line of a Page: an event, or the events of one item, with a bar from start to end.
type Row struct {
	Kind, Title, Text, State string // State: ok, denied, failed, open, none
	Turn                     string
	Agent                    string // name of the subagent, or ""
	Start, End               time.Time
	Left, Width              float64  // percent
	Decisions                []string // by the policy, a person or a hook
	JSON                     []string
	key                      string
}

func formatDuration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d:%04.1f", int(d.Minutes()), d.Seconds()-60*float64(int(d.Minutes())))
	}
	return d.Round(time.Second).String()
}

// Usage is the number of tokens that the model has used at a time.
type Usage struct {
	At                   time.Time
	Input, Output, Total float64
}

// Page is a trace as a page for a browser.
type Page struct {
	Thread, Name, Workspace string // Name: of the model
	Title                   string // the first prompt
	First, Last             time.Time
	Events                  int
	Rows                    []*Row
	Usage                   []Usage
}

// NewPage returns the page of the events of a thread and its subagents.
func NewPage(events []Event) (*Page, error) {
	b := pageBuilder{open: make(map[string]*Row)}
	for _, e := range events {
		s, err := Decode(e)
		if err != nil {
			return nil, err
		}
		b.add(s)
	}
	b.finish()
	return &b.Page, nil
}

type pageBuilder struct {
	Page
	open map[string]*Row
}

func (b *pageBuilder) add(s DecodedEvent) {
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
			return // the chart is of the thread
		}
		total := object(object(s.Params, "tokenUsage"), "total")
		b.Usage = append(b.Usage, Usage{s.Time, number(total, "inputTokens"), number(total, "outputTokens"), number(total, "totalTokens")})
		return
	}
	kind, key, ends := rowOf(s)
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
	if text := Summary(s); text != "" {
		if row.Kind == "approval" && s.Type == ApprovalResolved {
			row.Decisions = append(row.Decisions, fmt.Sprintf("%s answered %s", cmp.Or(s.From, "no one"), text))
		} else {
			row.Title, row.Text, _ = strings.Cut(rowTitle(s, text), "\n")
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
		row.State = stateOf(s)
	}
}

// rowTitle returns the title of a row: the summary without the kind and the outcome.
func rowTitle(s DecodedEvent, text string) string {
	switch s.Type {
	case PromptSubmitted:
		return strings.TrimPrefix(text, "» ")
	case ToolCall, ToolResult:
		kind := scalar(object(s.Params, "item"), "type")
		text = strings.TrimSuffix(text, " "+s.Outcome)
		if rest, ok := strings.CutPrefix(text, kind+" "); ok && kind != "" {
			return itemNames[kind] + rest
		}
	case ApprovalRequested:
		if rest, ok := strings.CutPrefix(text, s.Method+" "); ok {
			return rest
		}
	}
	return text
}

// itemNames are the prefixes of titles of items whose summary does not show their type.
var itemNames = map[string]string{"fileChange": "patch ", "mcpToolCall": "server ", "webSearch": "web ", "imageView": "image ", "collabAgentToolCall": "agents: "}

// rowOf returns the kind and key of the row of an event, or "" if it has none. Events with the same
// key share a row; ends reports whether the event ends it.
func rowOf(s DecodedEvent) (kind, key string, ends bool) {
	item := object(s.Params, "item")
	id := scalar(item, "id")
	switch s.Type {
	case CallPassed:
		return "", "", false
	case PromptSubmitted:
		return "prompt", "", true
	case ToolCall, ToolResult:
		if s.Fields != nil {
			id = scalar(s.Fields, "itemId")
		}
		return "tool", "item " + id, s.Type == ToolResult
	case ToolTimeout:
		return "tool", "", true
	case HookStarted, HookCompleted:
		return "hook", "hook " + scalar(object(s.Params, "run"), "id") + s.TurnID, s.Type == HookCompleted
	case ApprovalRequested, ApprovalResolved:
		id = s.ID
		if s.Fields != nil {
			id = scalar(s.Fields, "requestId")
		}
		return "approval", "ask " + id + s.TurnID, s.Type == ApprovalResolved
	case Decided:
		return "decision", "", true
	case SessionStarted, SessionEnded, ClientClosed, ModelCompleted, Dropped, FileFull:
		return "session", "", true
	}
	if s.Method == "item/started" || s.Method == "item/completed" {
		switch scalar(item, "type") {
		case "agentMessage", "plan":
			kind = "message"
		case "reasoning":
			kind = "reasoning"
		default:
			return "", "", false // a message of the user, which is a prompt
		}
		return kind, "item " + id, s.Method == "item/completed"
	}
	if s.Chars == 0 && Summary(s) != "" {
		return "other", "", true
	}
	return "", "", false
}

func stateOf(s DecodedEvent) string {
	outcome := s.Outcome
	if s.Fields != nil {
		outcome, _ = s.Fields["verdict"].(string)
		if w, ok := s.Fields["outcome"].(string); ok {
			outcome = w
		}
	}
	switch outcome {
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

// finish sets the bars of the rows, and the decisions about them.
func (b *pageBuilder) finish() {
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
			b.addDecision(r)
		}
	}
	slices.SortStableFunc(b.Rows, func(x, y *Row) int { return x.Start.Compare(y.Start) })
}

// addDecision adds a decision to the row that it is about: the last one of the same turn that started
// before it, and ended after it.
func (b *pageBuilder) addDecision(decision *Row) {
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

func number(v map[string]any, name string) float64 {
	n, _ := v[name].(float64)
	return n
}
