package tools

import (
	"encoding/json"
	"math"
	"time"
)

// object is arguments, or none where they are no object: Codex passes on what the model
// wrote, be it a list (measured with 0.169.0).
func object(arguments json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) != nil || members == nil {
		return json.RawMessage("{}")
	}
	return arguments
}

// askedTime is the time that the arguments ask for: timeoutMs, a positive number. 0: none.
func askedTime(arguments json.RawMessage) time.Duration {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(arguments, &members) // an object
	var ms *float64
	if json.Unmarshal(members["timeoutMs"], &ms) != nil || ms == nil || *ms <= 0 {
		return 0
	}
	whole := math.Floor(*ms)
	if whole > float64(math.MaxInt64/int64(time.Millisecond)) {
		return math.MaxInt64
	}
	return max(time.Duration(whole)*time.Millisecond, 1) // less than one is a time, too
}
