package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"codex-bridge/relay/redact"
)

// Schema and SchemaVersion name the format of a line.
const (
	Schema        = "codex-bridge-trace"
	SchemaVersion = 1
)

// Type is what an event is about.
type Type string

// The types. What is on none of them is a message like any other.
const (
	SessionStarted   Type = "session.started"    // a thread was opened: what codex answered
	ContextCompiled  Type = "context.compiled"   // a request that opens a thread, as codex gets it: instructions, tools, configuration
	PromptSubmitted  Type = "prompt.submitted"   // a turn was asked for, or steered
	ToolCall         Type = "tool.call"          // an item that acts has begun
	ToolResult       Type = "tool.result"        // and ended; data.unfinished: nobody said how
	ToolTimeout      Type = "tool.timeout"       // a tool of the host's had no result in time
	ApprovalAsked    Type = "approval.requested" // codex, or the bridge, asks
	ApprovalAnswered Type = "approval.resolved"  // data.outcome
	HookStarted      Type = "hook.started"
	HookCompleted    Type = "hook.completed"
	Decided          Type = "decision" // the policy changed or refused something
	ModelCompleted   Type = "model.completed"
	ClientClosed     Type = "turn.client_closed" // a turn was under way when the conversation ended
	SessionEnded     Type = "session.ended"
	Message          Type = "message"
	Dropped          Type = "trace.dropped"   // data.events were not written
	Full             Type = "trace.file_full" // the last line of a file at its limit
	Damaged          Type = "trace.damaged"   // in no file: a line that was cut in writing
)

// Event is one line.
type Event struct {
	TraceID    string          `json:"traceId"` // one conversation between a client and a codex
	Source     string          `json:"source"`
	Type       Type            `json:"type"`
	Time       time.Time       `json:"ts"`
	Seq        int64           `json:"seq"`       // in the file, for this conversation
	SourceSeq  int64           `json:"sourceSeq"` // in the conversation, over all threads
	ThreadID   string          `json:"sessionId"`
	SessionKey string          `json:"sessionKey,omitempty"`
	TurnID     string          `json:"runId,omitempty"`
	Workspace  string          `json:"workspaceDir,omitempty"`
	Provider   string          `json:"provider,omitempty"`
	Model      string          `json:"modelId,omitempty"`
	API        string          `json:"modelApi,omitempty"`
	Data       json.RawMessage `json:"data"`
}

// Hop is the data of an event that is a message: from whom to whom. What the bridge does
// not hand on ends at it, what it says itself begins there.
type Hop struct {
	From    string          `json:"from"`
	To      string          `json:"to"`
	Chars   int             `json:"chars,omitempty"` // of a part of a stream, whose text stands in the item at its end
	Outcome string          `json:"outcome,omitempty"`
	Message json.RawMessage `json:"message,omitempty"`
	Elided  int             `json:"elidedBytes,omitempty"` // of a message that is too long to be looked at
}

type line struct {
	TraceSchema   string `json:"traceSchema"`
	SchemaVersion int    `json:"schemaVersion"`
	Event
}

// Line is the event's line without its line end, redacted and within the limits.
func (e Event) Line(l Limits) ([]byte, error) {
	l = l.orDefault()
	data, err := redact.New(l.Limits).JSON(e.Data)
	if err != nil {
		return nil, fmt.Errorf("the data of %s is no JSON: %w", e.Type, err)
	}
	e.Data = data
	return e.encode(l)
}

// encode is Line for data that is redacted.
func (e Event) encode(l Limits) ([]byte, error) {
	e.Source = "bridge"
	text, err := marshal(line{Schema, SchemaVersion, e})
	if err != nil || len(text) <= l.Event {
		return text, err
	}
	if e.Data, err = marshal(map[string]any{
		"truncated": true, "originalBytes": len(text), "limitBytes": l.Event, "reason": "trajectory-event-size-limit",
	}); err != nil {
		return nil, err
	}
	return marshal(line{Schema, SchemaVersion, e})
}

// marshal leaves < and > as they are: a trace is read in a terminal.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
