package store

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Kind is what a record of a transcript is.
type Kind string

// The kinds. Gap says that records are missing.
const (
	User       Kind = "user"
	Assistant  Kind = "assistant"
	Reasoning  Kind = "reasoning"
	Plan       Kind = "plan"
	Tool       Kind = "tool"
	Compaction Kind = "compaction"
	Gap        Kind = "gap"
)

// Kinds are all of them.
var Kinds = []Kind{User, Assistant, Reasoning, Plan, Tool, Compaction, Gap}

// IsKind tells whether a word is one.
func IsKind(word string) bool { return slices.Contains(Kinds, Kind(word)) }

// Record is one thing that was said or done in a turn. Thread, Turn, Kind and Index name it
// for good: the Index is given when it is kept.
type Record struct {
	Thread string    `json:"thread"`
	Turn   string    `json:"turn"`
	Kind   Kind      `json:"kind"`
	Index  int       `json:"index"`
	Item   string    `json:"item,omitempty"`  // Codex's id
	Name   string    `json:"name,omitempty"`  // of a tool; start or end of a compaction
	State  string    `json:"state,omitempty"` // how a tool's call ended
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`

	// Replayed is a record that Codex has told again: one with its text is the same, even
	// if Codex gives it another id.
	Replayed bool `json:"-"`
}

const recordColumns = `thread, turn, kind, idx, item, name, state, time, text`

// cleanText returns text as a database takes it: as UTF-8, and without NUL.
func cleanText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// clean returns the record as a database takes it.
func (r Record) clean() Record {
	for _, text := range []*string{&r.Thread, &r.Turn, &r.Item, &r.Name, &r.State, &r.Text} {
		*text = cleanText(*text)
	}
	r.Time = r.Time.UTC().Truncate(time.Microsecond)
	return r
}

func (r Record) digest() string {
	sum := sha256.Sum256([]byte(r.Text))
	return hex.EncodeToString(sum[:8])
}

func (r *Record) from(scan func(...any) error, more ...any) error {
	var at string
	if err := scan(append([]any{&r.Thread, &r.Turn, &r.Kind, &r.Index, &r.Item, &r.Name, &r.State, &at, &r.Text}, more...)...); err != nil {
		return err
	}
	var err error
	r.Time, err = time.Parse(stampForm, at)
	return err
}
