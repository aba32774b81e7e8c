package main

import (
	"time"

	"codex-bridge/relay/trace"
)

// tracing is what an event costs that is written down: redacted, bounded, and made a line.
func tracing() ([]path, error) {
	text, err := captured("codex-acp-2.6.0-approval-out.jsonl", `"method":"item/fileChange/requestApproval"`)
	if err != nil {
		return nil, err
	}
	e := trace.Event{TraceID: "1", Type: trace.ApprovalAsked, Time: time.Unix(1790000000, 0).UTC(), Seq: 1, SourceSeq: 1,
		ThreadID: "01a1fb6a-bc1d-7e93-af1c-a5bb99b64557", Data: text}
	if _, err := e.Line(trace.Limits{}); err != nil {
		return nil, err
	}
	return []path{{"redact an event of a trace", 1, "event", func() { _, _ = e.Line(trace.Limits{}) }}}, nil
}
