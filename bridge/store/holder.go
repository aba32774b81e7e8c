package store

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/bridge/decision"
)

// Holder is the process that has the lease of a session.
type Holder struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started string    `json:"-"` // with PID and Host, identifies the process, also after a reboot
	Taken   time.Time `json:"taken,omitzero"`
}

// CurrentProcess returns this process as a Holder.
var CurrentProcess = sync.OnceValues(func() (Holder, error) {
	host, err := hostname()
	if err != nil {
		return Holder{}, fmt.Errorf("the name of this machine can't be read: %w", err)
	}
	started, err := processStart(os.Getpid())
	if err != nil {
		return Holder{}, fmt.Errorf("the start time of this process can't be read: %w", err)
	}
	return Holder{Host: host, PID: os.Getpid(), Started: started}, nil
})

var errNoProcess = errors.New("no such process")

// isSameProcess reports whether both are the same process.
func (h Holder) isSameProcess(o Holder) bool {
	return h.Host == o.Host && h.PID == o.PID && h.Started == o.Started
}

// hasEnded reports whether the process has ended. It reports false for a process on another machine
// than here's.
func (h Holder) hasEnded(here Holder) bool {
	if h.Host != here.Host {
		return false
	}
	started, err := processStart(h.PID)
	return errors.Is(err, errNoProcess) || err == nil && started != h.Started
}

// Mark returns a text for names of files: the process id, and digests of the machine and the start time.
func (h Holder) Mark() string {
	return strconv.Itoa(h.PID) + "." + decision.Sum([]byte(h.Host))[:markLen] + "." + decision.Sum([]byte(h.Started))[:markLen]
}

// markLen is the length of a digest in Mark.
const markLen = 12

// MarkHasEnded reports whether a name begins with the Mark of a process of this machine that has ended. h is the current
// process.
func (h Holder) MarkHasEnded(name string) bool {
	id, rest, _ := strings.Cut(name, ".")
	pid, err := strconv.Atoi(id)
	if err != nil || pid <= 0 || !strings.HasPrefix(rest, decision.Sum([]byte(h.Host))[:markLen]+".") {
		return false
	}
	started, err := processStart(pid)
	if err != nil {
		return errors.Is(err, errNoProcess)
	}
	return !strings.HasPrefix(name, Holder{Host: h.Host, PID: pid, Started: started}.Mark())
}

// String names the process for people.
func (h Holder) String() string { return fmt.Sprintf("process %d on %s", h.PID, h.Host) }
