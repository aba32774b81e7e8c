package server

// State is how far a server is.
type State string

// The states of a server.
const (
	Idle     State = "idle"     // not needed yet
	Starting State = "starting" // for the first time, or again
	Ready    State = "ready"
	Failed   State = "failed" // waits for its next start, or is closed
)

// Status is a server as bridge/status and doctor show it.
type Status struct {
	Name     string `json:"name"`
	State    State  `json:"state"`
	Tools    int    `json:"tools"`
	Restarts int    `json:"restarts"`
	Error    string `json:"error,omitempty"` // of the last start or life; of a ready server, what is wrong with its tools
}

// Status is the server as it is now.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := Status{Name: s.o.Name, State: s.state, Tools: len(s.offer.specs), Restarts: max(0, s.attempts-1)}
	switch {
	case s.state == Ready:
		status.Error = s.offer.note
	case s.err != nil:
		status.Error = s.err.Error()
	}
	return status
}
