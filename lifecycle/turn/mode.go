package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"codex-bridge/rpc"
)

// Mode is what a message does while a turn is running. The zero Mode means ModeSteer.
type Mode string

// The modes.
const (
	ModeSteer     Mode = "steer"     // joins the turn
	ModeFollowup  Mode = "followup"  // starts one after it, with the others that wait for that
	ModeQueue     Mode = "queue"     // starts one after it, of its own
	ModeInterrupt Mode = "interrupt" // ends it, and starts one
)

// Known tells whether it is one of the modes.
func (m Mode) Known() bool {
	_, err := m.check()
	return err == nil
}

func (m Mode) check() (Mode, error) {
	switch m {
	case "":
		return ModeSteer, nil
	case ModeSteer, ModeFollowup, ModeQueue, ModeInterrupt:
		return m, nil
	}
	return "", fmt.Errorf("mode %q is none; write steer, followup, queue or interrupt", string(m))
}

// maxQuiet bounds how long a message waits for the next.
const maxQuiet = time.Minute

// ReadQuiet reads how long a message waits for the next one, in milliseconds; it drops
// fractions. It returns usual if v is absent or null.
func ReadQuiet(v rpc.Value, usual time.Duration) (time.Duration, error) {
	if !v.Exists() || v.Kind() == rpc.Null {
		return usual, nil
	}
	var ms float64
	if err := json.Unmarshal(v.Raw(), &ms); err != nil || ms < 0 || ms > float64(maxQuiet.Milliseconds()) {
		return 0, errors.New("give a number of milliseconds, at most 60000")
	}
	return time.Duration(ms) * time.Millisecond, nil
}
