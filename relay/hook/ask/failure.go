package ask

// Failure is what keeps a process from an answer.
type Failure struct {
	Reason string
	Absent bool // no bridge answers; else something is wrong
}

func (f *Failure) Error() string { return f.Reason }

// Reopen is what helps where a thread asks a bridge that is not there any more.
const Reopen = "; open the thread anew, and restart the editor if that does not help"

// Fault is a panic of the process's own.
type Fault struct{ Value any }

func (f *Fault) Error() string { return "a fault of its own" }
