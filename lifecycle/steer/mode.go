package steer

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"codex-bridge/rpc"
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

// maxQuiet bounds how long a message waits for the next.
const maxQuiet = time.Minute

// Quiet reads how long a message waits for the next: a number of milliseconds, of which
// fractions are dropped. It returns usual where v is absent or null.
func Quiet(v rpc.Value, usual time.Duration) (time.Duration, error) {
	if !v.Exists() || v.Kind() == rpc.Null {
		return usual, nil
	}
	var ms float64
	if err := json.Unmarshal(v.Raw(), &ms); err != nil || ms < 0 || ms > float64(maxQuiet.Milliseconds()) {
		return 0, errors.New("give a number of milliseconds, at most 60000")
	}
	return time.Duration(ms) * time.Millisecond, nil
}
