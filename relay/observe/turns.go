package observe

// Compactions counts compactions. One that was started and not completed still runs, or
// has failed.
type Compactions struct {
	Started   int64      `json:"started"`
	Completed int64      `json:"completed"`
	Last      *Compacted `json:"last,omitempty"`
}

// Compacted is a compaction that has ended.
type Compacted struct {
	ThreadID   string `json:"threadId"`
	TurnID     string `json:"turnId,omitempty"`
	DurationMs int64  `json:"durationMs"`
}

// Reviews counts what a reviewing model did in the person's place.
type Reviews struct {
	Started  int64     `json:"started"`
	Approved int64     `json:"approved"`
	Denied   int64     `json:"denied"`
	TimedOut int64     `json:"timedOut"`
	Aborted  int64     `json:"aborted"`
	Last     *Reviewed `json:"last,omitempty"`
}

// Reviewed is a review that has ended.
type Reviewed struct {
	ThreadID   string `json:"threadId"`
	TurnID     string `json:"turnId,omitempty"`
	Action     string `json:"action"` // command, applyPatch, mcpToolCall and so on
	Status     string `json:"status"`
	Risk       string `json:"risk,omitempty"`
	DurationMs int64  `json:"durationMs"`
	Reason     string `json:"reason,omitempty"`
}
