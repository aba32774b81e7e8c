package observe

// Kind is what has happened.
type Kind string

// The kinds.
const (
	Hook       Kind = "hook"       // a hook ran: Name is its event, preToolUse and so on
	Compaction Kind = "compaction" // a thread was summed up
	Review     Kind = "review"     // a model judged an action: Name is its type, command and so on
)

// Running is the Status of what has begun and not ended. The others are Codex's own words:
// completed, blocked, stopped, failed of a hook, completed of a compaction, approved,
// denied, timedOut, aborted of a review.
const Running = "running"

// Event is one thing that Codex has told. Texts are cut to what a person would read.
type Event struct {
	Kind       Kind
	ThreadID   string
	TurnID     string
	Name       string
	Status     string
	DurationMs int64  // of what has ended
	Own        bool   // it is a hook of the bridge's
	Risk       string // what a review found: low, medium, high, critical
	Reason     string // what a hook, or the reviewer, says of it
}

// Observer is told of events.
type Observer interface {
	// Wants tells whether it wants to hear now. It is asked with every message.
	Wants() bool
	// Observe is told one event. Codex's messages wait for it.
	Observe(Event)
}
