package params

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// Trigger is what started a turn.
type Trigger string

// The triggers. The zero Trigger means TriggerUser.
const (
	TriggerUser      Trigger = "user"
	TriggerCron      Trigger = "cron"      // a job that was planned
	TriggerHeartbeat Trigger = "heartbeat" // a look, from time to time, whether there is anything to do
)

const cronInstructions = `A schedule started this turn; nobody is waiting for it to be talked over, and what is said here holds for this turn alone.

Carry out the job as it is written. If it names a command, run that command first, before looking around, planning or reading notes. Read further files only if the job asks for it, or if something fails and they are needed to see why.

Answer briefly: the outcome, or in a few words what failed.`

const heartbeatInstructions = `A timer started this turn, to see whether anything needs doing; what is said here holds for this turn alone.

Look at what is open and do what is useful and safe without asking. If there is a tool for reporting how such a turn ended, report with it. Disturb the person only for something that should not wait; if there is nothing to do, say so in one short line and stop.`

// TriggerInstructions are the instructions to the model for a turn by a trigger; "" means the
// bridge's defaults.
type TriggerInstructions struct{ Cron, Heartbeat string }

// of returns the instructions for a trigger; "" is none.
func (w TriggerInstructions) of(t Trigger) (string, error) {
	switch t {
	case TriggerUser, "":
		return "", nil
	case TriggerCron:
		return cmp.Or(w.Cron, cronInstructions), nil
	case TriggerHeartbeat:
		return cmp.Or(w.Heartbeat, heartbeatInstructions), nil
	}
	return "", fmt.Errorf("%q starts no turn; write user, cron or heartbeat", string(t))
}

// Differs tells whether a turn needs another mode than the turn before it had: a mode stays
// until another is sent (measured), so after a cron turn an ordinary one has to take the
// words of it back. A thread begins with the ordinary one.
func (t Trigger) Differs(before Trigger) bool {
	if t == "" {
		t = TriggerUser
	}
	if before == "" {
		before = TriggerUser
	}
	return t != before
}

// CollaborationMode is the mode of a turn, Codex's default one with words of its trigger.
// It comes before the turn's own model and effort: without an effort here the model's
// usual one is taken, whatever the turn says (measured). So both are needed, and "" is
// the model's usual effort.
func CollaborationMode(t Trigger, own TriggerInstructions, model, effort string) (json.RawMessage, error) {
	words, err := own.of(t)
	if err != nil {
		return nil, err
	}
	if model == "" {
		return nil, fmt.Errorf("a turn by %q needs a model", string(t)) // Codex refuses a mode without
	}
	type settings struct {
		Model        string  `json:"model"`
		Effort       *string `json:"reasoning_effort"`
		Instructions *string `json:"developer_instructions"`
	}
	return encode(struct {
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
