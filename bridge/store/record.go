package store

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"codex-bridge.example/bridge/decision"
)

// Kind is the kind of a transcript record.
type Kind string

// The kinds. A Gap means that records are missing.
const (
	User       Kind = "user"
	Assistant  Kind = "assistant"
	Reasoning  Kind = "reasoning"
	Plan       Kind = "plan"
	Tool       Kind = "tool"
	Compaction Kind = "compaction"
	Gap        Kind = "gap"
)

// Kinds has all kinds.
var Kinds = []Kind{User, Assistant, Reasoning, Plan, Tool, Compaction, Gap}

// IsKind reports whether a word is a kind.
func IsKind(word string) bool { return slices.Contains(Kinds, Kind(word)) }

// Record is one message or action in a turn. Thread, Turn, Kind and Index identify it; AddRecords
// assigns the Index.
type Record struct {
	Thread string    `json:"thread"`
	Turn   string    `json:"turn"`
	Kind   Kind      `json:"kind"`
	Index  int       `json:"index"`
	Item   string    `json:"item,omitempty"`  // Codex's id
	Name   string    `json:"name,omitempty"`  // of a tool; "start" or "end" of a compaction
	State  string    `json:"state,omitempty"` // the status of an ended tool call
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`

	// Replayed marks a record that Codex sent again. It equals a stored record with the same text,
	// even if Codex gives it another id.
	Replayed bool `json:"-"`
}

const recordColumns = `thread, turn, kind, idx, item, name, state, time, text`

// clean returns the record with texts that both databases accept.
func (r Record) clean() Record {
	for _, text := range []*string{&r.Thread, &r.Turn, &r.Item, &r.Name, &r.State, &r.Text} {
		*text = decision.CleanText(*text)
	}
	r.Time = r.Time.UTC().Truncate(time.Microsecond)
	return r
}

func (r Record) digest() string {
	sum := sha256.Sum256([]byte(r.Text))
	return hex.EncodeToString(sum[:8])
}

func (r *Record) scan(scan func(...any) error, more ...any) error {
	var at string
	if err := scan(append([]any{&r.Thread, &r.Turn, &r.Kind, &r.Index, &r.Item, &r.Name, &r.State, &at, &r.Text}, more...)...); err != nil {
		return err
	}
	var err error
	r.Time, err = time.Parse(timeLayout, at)
	return err
}
