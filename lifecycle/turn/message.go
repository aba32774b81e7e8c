package turn

import (
	"encoding/json"
	"time"
)

// Message is a message for a thread.
type Message struct {
	Input []json.RawMessage // items, as turn/start and turn/steer take them; at least one
	Text  string            // for Answer
	Mode  Mode
	Quiet time.Duration // how long it waits for another message
}

// Disposition is the way in which a message was delivered.
type Disposition string

// The dispositions.
const (
	DispositionStarted  Disposition = "started"  // it started a turn, alone or with others
	DispositionSteered  Disposition = "steered"  // it joined the running turn
	DispositionQueued   Disposition = "queued"   // it waits for the turn's end
	DispositionAnswered Disposition = "answered" // it answered a question of the model
)

// Delivery describes how a message was delivered.
type Delivery struct {
	Disposition Disposition
	Turn        string // "" when it is queued
}

// waiting is a queued message. Inbox.mu guards its fields.
type waiting struct {
	Message
	size           int
	due            bool            // its quiet time is over
	hasInterrupted bool            // it has interrupted a turn, which will soon end
	answered       bool            // its sender has an answer
	sending        bool            // a request with it is in flight
	answers        chan sendResult // capacity 1
}

type sendResult struct {
	Delivery
	err error
}

// answer answers the sender and reports whether this is the first answer. It ignores later ones.
func (w *waiting) answer(r Delivery, err error) (first bool) {
	if w.answered {
		return false
	}
	w.answered = true
	w.answers <- sendResult{r, err}
	return true
}
