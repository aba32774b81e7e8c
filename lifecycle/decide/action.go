package decide

// Action is what is to be done for a conversation that wants its thread.
type Action string

// The actions. The zero Action is none of them.
const (
	Resume    Action = "resume"    // go on with the thread
	Start     Action = "start"     // a new thread, in place of the one that was bound, if any
	Transient Action = "transient" // a new thread for now; the binding stays as it is
	Rotate    Action = "rotate"    // Start, and the host has to know: the context is another engine's
	// Build is no answer yet: what the apps of plugins come to has to be found out, and
	// then decided again.
	Build Action = "build"
)

// Binds tells whether the thread becomes the conversation's.
func (a Action) Binds() bool { return a == Resume || a == Start || a == Rotate }

// Decision is an action and why.
type Decision struct {
	Action Action
	Reason Reason
}
