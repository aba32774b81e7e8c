package acp

// Mode says how long a child lives: a run ends with its task, a session when it is closed.
type Mode string

// The modes.
const (
	Run     Mode = "run"
	Session Mode = "session"
)

// Status is the outcome of a spawn.
type Status string

// The statuses.
const (
	Accepted  Status = "accepted"
	Forbidden Status = "forbidden"
	Failed    Status = "error"
)

// Request holds the parameters of bridge/acp/spawn.
type Request struct {
	Task    string `json:"task"`
	Agent   string `json:"agentId,omitempty"`
	Label   string `json:"label,omitempty"`
	Resume  string `json:"resumeSessionId,omitempty"` // the agent's id of a session
	Cwd     string `json:"cwd,omitempty"`
	Mode    Mode   `json:"mode,omitempty"`
	Thread  bool   `json:"thread,omitempty"`   // bound to a place of the host
	Sandbox string `json:"sandbox,omitempty"`  // inherit or require
	Stream  string `json:"streamTo,omitempty"` // parent
	// Once is a key. Later spawns with the same key get the result of the first.
	Once string `json:"idempotencyKey,omitempty"`
}

// Requester describes who requests a spawn.
type Requester struct {
	Session   string // the session key, or ""
	Sandboxed bool   // the requester runs in a sandbox
	Unknown   bool   // it is not known whether it does
	Depth     int    // the number of bridges with agents above this one
}

// Result is the result of bridge/acp/spawn.
type Result struct {
	Status Status `json:"status"`
	Child  string `json:"childSessionKey,omitempty"`
	Run    string `json:"runId,omitempty"`
	Mode   Mode   `json:"mode,omitempty"`
	Log    string `json:"streamLogPath,omitempty"`
	Note   string `json:"note,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Child describes an agent's session to spawn.
type Child struct {
	Key       string
	Agent     string
	Label     string
	SpawnedBy string
	Mode      Mode
	Cwd       string
	Resume    string
	Task      string
	Stream    bool // send notices of its work to the requester
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
