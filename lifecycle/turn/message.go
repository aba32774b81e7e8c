package turn

import (
	"encoding/json"
	"time"
)

// Message is one that somebody has written.
type Message struct {
	Input []json.RawMessage // items, as turn/start and turn/steer take them
	Text  string            // what answers a question
	Mode  Mode
	Quiet time.Duration // waits so long for another one
}

// Disposition is the way in which a message was delivered.
type Disposition string

// The dispositions.
const (
	DispositionStarted  Disposition = "started"  // a turn, by itself or with others
	DispositionSteered  Disposition = "steered"  // the running turn has it
	DispositionQueued   Disposition = "queued"   // waits for the turn's end
	DispositionAnswered Disposition = "answered" // a question of the model's
)

// Delivery tells how a message was delivered.
type Delivery struct {
	Disposition Disposition
	Turn        string // "" when it is queued
}

// waiting is a message in line.
type waiting struct {
	Message
	size    int
	due     bool // its quiet time is over
	struck  bool // has interrupted a turn, which will soon end
	told    bool // who sent it has an answer
	going   bool // Codex is being asked
	answers chan sendResult
}

type sendResult struct {
	Delivery
	err error
}

// tell tells who sent it; the first time counts.
func (w *waiting) tell(r Delivery, err error) (first bool) {
	if w.told {
		return false
	}
	w.told = true
	w.answers <- sendResult{r, err} // holds one
	return true
}
