package hook

// RunCounts counts runs of hooks by Codex's status.
type RunCounts struct {
	Completed int64 `json:"completed"`
	Blocked   int64 `json:"blocked"`
	Stopped   int64 `json:"stopped"`
	Failed    int64 `json:"failed"`
}

// Add counts a completed run.
func (r *RunCounts) Add(status string) {
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
