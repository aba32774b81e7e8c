package acp

// Mode is how long a child lives: a run for its task, a session until it is closed.
type Mode string

// The modes.
const (
	Run     Mode = "run"
	Session Mode = "session"
)

// Status is what became of a spawn.
type Status string

// The statuses.
const (
	Accepted  Status = "accepted"
	Forbidden Status = "forbidden"
	Failed    Status = "error"
)

// Request is what a spawn is asked for.
type Request struct {
	Task    string `json:"task"`
	Agent   string `json:"agentId,omitempty"`
	Label   string `json:"label,omitempty"`
	Resume  string `json:"resumeSessionId,omitempty"` // a session of the agent's own
	Cwd     string `json:"cwd,omitempty"`
	Mode    Mode   `json:"mode,omitempty"`
	Thread  bool   `json:"thread,omitempty"`   // bound to a place of the host's
	Sandbox string `json:"sandbox,omitempty"`  // inherit or require
	Stream  string `json:"streamTo,omitempty"` // parent
	// Once makes one of all spawns with the same: the later ones are answered as the first.
	Once string `json:"idempotencyKey,omitempty"`
}

// Requester is who asks.
type Requester struct {
	Session   string // the conversation, "" none
	Sandboxed bool   // who asks runs in a sandbox
	Depth     int    // how many bridges with agents lie above this one
}

// Result is what a spawn is answered.
type Result struct {
	Status Status `json:"status"`
	Child  string `json:"childSessionKey,omitempty"`
	Run    string `json:"runId,omitempty"`
	Mode   Mode   `json:"mode,omitempty"`
	Log    string `json:"streamLogPath,omitempty"`
	Note   string `json:"note,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Child is an agent's session, as it is spawned.
type Child struct {
	Key       string
	Agent     string
	Label     string
	SpawnedBy string
	Mode      Mode
	Cwd       string
	Resume    string
	Task      string
	Stream    bool // its work is told to the one that asked
}

const (
	runNote     = "the task runs in a session of its own, which ends with it."
	sessionNote = "the session stays open after the task; go on with it by its key."
)

func (m Mode) note() string {
	if m == Session {
		return sessionNote
	}
	return runNote
}
