package trace

import (
	"bytes"
	"encoding/json"
	"time"

	"codex-bridge.example/bridge/decision"
)

// Schema and SchemaVersion name the format of a line.
const (
	Schema        = "codex-bridge-trace"
	SchemaVersion = 1
)

// Type is the type of an event.
type Type string

// The types of events. A message of no other type has the type Message.
const (
	SessionStarted    Type = "session.started"    // Codex's response to a request that opens a thread
	ContextCompiled   Type = "context.compiled"   // that request as Codex receives it: instructions, tools, configuration
	PromptSubmitted   Type = "prompt.submitted"   // turn/start or turn/steer
	ToolCall          Type = "tool.call"          // a tool call started
	ToolResult        Type = "tool.result"        // a tool call ended; data.unfinished: without a result
	ToolTimeout       Type = "tool.timeout"       // a host tool had no result in time
	ApprovalRequested Type = "approval.requested" // by Codex, or by the bridge
	ApprovalResolved  Type = "approval.resolved"  // data.outcome is the decision
	HookStarted       Type = "hook.started"
	HookCompleted     Type = "hook.completed"
	Decided           Type = "decision"    // the policy changed or refused a message
	CallPassed        Type = "call.passed" // the policy let a tool call run without a question
	ModelCompleted    Type = "model.completed"
	ClientClosed      Type = "turn.client_closed" // the conversation ended during a turn
	SessionEnded      Type = "session.ended"
	Message           Type = "message"
	Dropped           Type = "trace.dropped"   // data.events were dropped
	FileFull          Type = "trace.file_full" // the last line of a file of maximum size
	Damaged           Type = "trace.damaged"   // in no file: ReadFile returns it for a truncated line
)

// Event is one line of a trace.
type Event struct {
	TraceID    string          `json:"traceId"` // of the conversation
	Source     string          `json:"source"`
	Type       Type            `json:"type"`
	Time       time.Time       `json:"ts"`
	Seq        int64           `json:"seq"`       // number in the file, within the conversation
	SourceSeq  int64           `json:"sourceSeq"` // number in the conversation, over all threads
	ThreadID   string          `json:"sessionId"`
	SessionKey string          `json:"sessionKey,omitempty"`
	TurnID     string          `json:"runId,omitempty"`
	Workspace  string          `json:"workspaceDir,omitempty"`
	Provider   string          `json:"provider,omitempty"`
	Model      string          `json:"modelId,omitempty"`
	API        string          `json:"modelApi,omitempty"`
	Data       json.RawMessage `json:"data"`
}

// Passed is the data of an event CallPassed.
type Passed struct {
	Method string `json:"method"`
	Client string `json:"client"`
	Mode   string `json:"mode"`
	Facts  string `json:"facts"` // replay.Facts as JSON
	// Sum is the SHA-256 of Facts before secrets were removed.
	Sum string `json:"factsSum"`
	// Logged reports that an exception allows the call, so that the decision log has it, too.
	Logged bool `json:"logged,omitempty"`
}

// Intact reports whether Facts has no secret.
func (p Passed) Intact() bool { return decision.Sum([]byte(p.Facts)) == p.Sum }

// Hop is the data of an event that is a message. From and To are "client", "codex" or "bridge": a
// message that the bridge does not forward ends at the bridge.
type Hop struct {
	From    string          `json:"from"`
	To      string          `json:"to"`
	Chars   int             `json:"chars,omitempty"` // length of a delta, whose text is in the completed item
	Outcome string          `json:"outcome,omitempty"`
	Message json.RawMessage `json:"message,omitempty"`
	Elided  int             `json:"elidedBytes,omitempty"` // length of a message that is too long, or no JSON
}

type line struct {
	TraceSchema   string `json:"traceSchema"`
	SchemaVersion int    `json:"schemaVersion"`
	Event
}

// encode returns the line of an event with redacted data, without a line end.
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

// marshal does not escape < and >, so that people can read the file.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
