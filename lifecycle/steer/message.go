package steer

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

// Disposition is what became of a message.
type Disposition string

// The dispositions.
const (
	Started  Disposition = "started"  // a turn, by itself or with others
	Steered  Disposition = "steered"  // the running turn has it
	Queued   Disposition = "queued"   // waits for the turn's end
	Answered Disposition = "answered" // a question of the model's
)

// Result tells what became of a message.
type Result struct {
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
	answers chan answer
}

type answer struct {
	Result
	err error
}

// tell tells who sent it; the first time counts.
func (w *waiting) tell(r Result, err error) (first bool) {
	if w.told {
		return false
	}
	w.told = true
	w.answers <- answer{r, err} // holds one
	return true
}
