package store

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Holder is the process that writes a session's thread.
type Holder struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started string    `json:"-"` // tells the process from a later one of that id, after a reboot too
	Taken   time.Time `json:"taken"`
}

// Here is this process.
var Here = sync.OnceValues(func() (Holder, error) {
	host, err := hostname()
	if err != nil {
		return Holder{}, fmt.Errorf("the name of this machine can't be found out: %w", err)
	}
	started, err := startOf(os.Getpid())
	if err != nil {
		return Holder{}, fmt.Errorf("when this process started can't be found out: %w", err)
	}
	return Holder{Host: host, PID: os.Getpid(), Started: started}, nil
})

// errGone means that there is no such process.
var errGone = errors.New("there is no such process")

// same tells whether both are one process.
func (h Holder) same(o Holder) bool {
	return h.Host == o.Host && h.PID == o.PID && h.Started == o.Started
}

// gone tells whether the process is known to have ended. Of another machine that is never
// known.
func (h Holder) gone(here Holder) bool {
	if h.Host != here.Host {
		return false
	}
	started, err := startOf(h.PID)
	return errors.Is(err, errGone) || err == nil && started != h.Started
}

// String names the holder for people.
func (h Holder) String() string { return fmt.Sprintf("process %d on %s", h.PID, h.Host) }
