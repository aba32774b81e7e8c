package turn

import (
	"encoding/json"
	"errors"
	"time"

	"codex-bridge.example/rpc"
)

// Mode selects the effect of a message while a turn is running. The zero Mode means ModeSteer.
type Mode string

// The modes.
const (
	ModeSteer     Mode = "steer"     // joins the turn
	ModeFollowup  Mode = "followup"  // joins the other waiting messages in a new turn after it
	ModeQueue     Mode = "queue"     // starts a turn of its own after it
	ModeInterrupt Mode = "interrupt" // ends it and starts a turn
)

// IsValid reports whether m is one of the modes.
func (m Mode) IsValid() bool {
	return m == ModeSteer || m == ModeFollowup || m == ModeQueue || m == ModeInterrupt
}

// maxQuiet is the longest time that a message may wait for the next.
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
