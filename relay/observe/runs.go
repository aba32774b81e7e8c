package observe

// Runs counts runs of hooks by the status that Codex gives them.
type Runs struct {
	Completed int64 `json:"completed"`
	Blocked   int64 `json:"blocked"`
	Stopped   int64 `json:"stopped"`
	Failed    int64 `json:"failed"`
}

// Add counts a run that has ended.
func (r *Runs) Add(status string) {
	switch status {
	case "completed":
		r.Completed++
	case "blocked":
		r.Blocked++
	case "stopped":
		r.Stopped++
	case "failed":
		r.Failed++
	}
}

// Run is a run of a hook that has ended.
type Run struct {
	ThreadID   string `json:"threadId"`
	TurnID     string `json:"turnId,omitempty"`
	Event      string `json:"event"`
	Status     string `json:"status"`
	DurationMs int64  `json:"durationMs"`
	Own        bool   `json:"own"` // the bridge's
	Reason     string `json:"reason,omitempty"`
}

// Hooks is what is known of the runs of hooks. Those of the bridge's own are counted by
// who installs them.
type Hooks struct {
	Others   Runs  `json:"others"` // of the user's own, of plugins
	Last     *Run  `json:"last,omitempty"`
	Failures []Run `json:"failures,omitempty"` // the last ones, the newest at the end
}
