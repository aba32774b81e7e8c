package params

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"codex-bridge.example/rpc"
)

// Trigger says whether the user, a schedule or a timer started a turn.
type Trigger string

// The triggers. The zero Trigger means TriggerUser.
const (
	TriggerUser      Trigger = "user"
	TriggerCron      Trigger = "cron"      // a scheduled job
	TriggerHeartbeat Trigger = "heartbeat" // a periodic check for work
)

// ReadTrigger reads a trigger, for Into.
func ReadTrigger(v rpc.Value) (Trigger, error) {
	text, _ := v.Text()
	switch t := Trigger(text); t {
	case TriggerUser, TriggerCron, TriggerHeartbeat:
		return t, nil
	}
	return "", errors.New("write user, cron or heartbeat")
}

const cronInstructions = `A schedule started this turn; nobody is waiting for it to be talked over, and what is said here holds for this turn alone.

Carry out the job as it is written. If it names a command, run that command first, before looking around, planning or reading notes. Read further files only if the job asks for it, or if something fails and they are needed to see why.

Answer briefly: the outcome, or in a few words what failed.`

const heartbeatInstructions = `A timer started this turn, to see whether anything needs doing; what is said here holds for this turn alone.

Look at what is open and do what is useful and safe without asking. If there is a tool for reporting how such a turn ended, report with it. Disturb the person only for something that should not wait; if there is nothing to do, say so in one short line and stop.`

// TriggerInstructions holds the configured instructions to the model for each trigger; "" means the
// default.
type TriggerInstructions struct{ Cron, Heartbeat string }

// of returns the instructions for a trigger, or "" for TriggerUser.
func (w TriggerInstructions) of(t Trigger) (string, error) {
	switch t {
	case TriggerUser, "":
		return "", nil
	case TriggerCron:
		return cmp.Or(w.Cron, cronInstructions), nil
	case TriggerHeartbeat:
		return cmp.Or(w.Heartbeat, heartbeatInstructions), nil
	}
	return "", fmt.Errorf("unknown trigger %q; write user, cron or heartbeat", string(t))
}

// Differs reports whether a turn needs another collaboration mode than the turn before it. Measured:
// a mode stays until another is sent. So a user turn after a cron turn must replace its
// instructions. A thread begins with the mode of TriggerUser.
func (t Trigger) Differs(before Trigger) bool {
	if t == "" {
		t = TriggerUser
	}
	if before == "" {
		before = TriggerUser
	}
	return t != before
}

// CollaborationMode returns Codex's default mode with the instructions of the trigger. Measured: the
// mode's model and effort override those of the turn. So model is required, and an empty effort
// selects the model's default effort.
func CollaborationMode(t Trigger, own TriggerInstructions, model, effort string) (json.RawMessage, error) {
	words, err := own.of(t)
	if err != nil {
		return nil, err
	}
	if model == "" {
		return nil, fmt.Errorf("a turn with trigger %q needs a model", string(t)) // Codex refuses a mode without one
	}
	type settings struct {
		Model        string  `json:"model"`
		Effort       *string `json:"reasoning_effort"`
		Instructions *string `json:"developer_instructions"`
	}
	return Encode(struct {
		Mode     string   `json:"mode"`
		Settings settings `json:"settings"`
	}{"default", settings{model, orNull(effort), orNull(words)}})
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
