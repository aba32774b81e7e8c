package answer

// Outcome is how a question ended. The zero value is a no.
type Outcome int

// The outcomes.
const (
	Denied          Outcome = iota
	Unavailable             // nobody could be asked, or nobody answered
	Cancelled               // the turn ended before the answer
	ApprovedOnce            // for this one call
	ApprovedSession         // and for the like of it; Codex remembers it
)

func (o Outcome) String() string {
	switch o {
	case Denied:
		return "denied"
	case Unavailable:
		return "unavailable"
	case Cancelled:
		return "cancelled"
	case ApprovedOnce:
		return "approved-once"
	case ApprovedSession:
		return "approved-session"
	}
	return "unknown"
}

// Approved tells whether the outcome is a yes.
func (o Outcome) Approved() bool { return o == ApprovedOnce || o == ApprovedSession }
