package steer

import (
	"fmt"
	"math"
	"time"
)

// Mode is what a message does while a turn is running. The empty one is Steer.
type Mode string

// The modes.
const (
	Steer     Mode = "steer"     // joins the turn
	Followup  Mode = "followup"  // starts one after it, with the others that wait for that
	Queue     Mode = "queue"     // starts one after it, of its own
	Interrupt Mode = "interrupt" // ends it, and starts one
)

// Known tells whether it is one of the modes.
func (m Mode) Known() bool {
	_, err := m.check()
	return err == nil
}

func (m Mode) check() (Mode, error) {
	switch m {
	case "":
		return Steer, nil
	case Steer, Followup, Queue, Interrupt:
		return m, nil
	}
	return "", fmt.Errorf("mode %q is none; write steer, followup, queue or interrupt", string(m))
}

const quiet = 500 * time.Millisecond

// Quiet is how long a message waits for the next, from a number of milliseconds: 500
// where it is none.
func Quiet(ms float64) time.Duration {
	if math.IsNaN(ms) || ms < 0 || ms > math.MaxInt64/float64(time.Millisecond) {
		return quiet
	}
	return time.Duration(math.Floor(ms)) * time.Millisecond
}
